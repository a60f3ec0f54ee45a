#include "suites/collectives/failing_group.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "suites/collectives/library.h"
#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

std::string path_of(const std::string& store, const std::string& mark, int rank) {
  return fmt::format("{}/{}.{}", store, mark, rank);
}

GroupSpec of_all_ranks(const std::string& name) {
  const RankFacts facts = rank_facts();
  return {
      .rank = facts.rank, .size = facts.size, .store = facts.store, .name = name, .timeout = kGroupTimeout};
}

}  // namespace

// Announces that the runner will end this rank, if the rank still waits at the limit. Withdraws the
// announcement if the wait ends later.
class FailingGroup::Watch {
 public:
  explicit Watch(std::chrono::milliseconds limit)
      : thread_([this, limit] {
          std::unique_lock lock(mutex_);
          announced_ = !came_back_.wait_for(lock, limit, [this] { return back_; });
          if (announced_) suite::leave("ended");
        }) {}
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      back_ = true;
    }
    came_back_.notify_one();
    thread_.join();
    if (announced_) suite::leave("");
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable came_back_;
  bool back_ = false;
  bool announced_ = false;
  std::thread thread_;
};

FailingGroup::FailingGroup(const std::string& name, const std::string& library)
    : FailingGroup(of_all_ranks(name), library) {}

FailingGroup::FailingGroup(const GroupSpec& spec, const std::string& library)
    : spec_(spec), provider_(load_provider(library)) {}

void FailingGroup::expect_loss(std::chrono::milliseconds limit) {
  loss_expected_ = true;
  spec_.timeout = limit;
  if (group_ != nullptr) group_->set_timeout(limit);
}

Answer FailingGroup::join() {
  constexpr std::chrono::seconds kConnecting{10};  // oneCCL needs 1 to 2 s (docs/reference/oneccl.md)
  report_library(provider_.identity());
  const auto watched = watch(kConnecting);
  return provider_.make_group(spec_, group_);
}

std::unique_ptr<FailingGroup::Watch> FailingGroup::watch(std::chrono::milliseconds limit) const {
  const bool needed = loss_expected_ && !provider_.features().time_limit;
  return needed ? std::make_unique<Watch>(limit) : nullptr;
}

Answer FailingGroup::run(Call call, std::vector<std::int64_t>& numbers) {
  Bytes bytes(numbers.size() * sizeof(std::int64_t));
  const Tensor out(space_, provider_.memory(), bytes);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  const Tensor in(space_, provider_.memory(), bytes);
  call.type = Type::kI64;
  call.in = in.data();
  call.out = out.data();
  call.count = numbers.size();
  const auto watched = watch(spec_.timeout);
  Answer answer = group_->run(call);
  bytes = out.bytes();
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return answer;
}

Answer FailingGroup::all_reduce(int round, std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = rank() + round + static_cast<std::int64_t>(i);
  Answer answer = run({.operation = Operation::kAllReduce}, numbers);
  if (!answer.ok()) return answer;
  const auto ranks = static_cast<std::int64_t>(size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t sum = ranks * (ranks - 1) / 2 + ranks * (round + static_cast<std::int64_t>(i));
    if (numbers[i] != sum)
      return {Ended::kOther, fmt::format("element {} is {} instead of {}", i, numbers[i], sum)};
  }
  return answer;
}

Answer FailingGroup::broadcast(int root, std::size_t count) {
  const std::vector<std::int64_t> expected(count, root + 1);
  std::vector<std::int64_t> numbers = expected;
  Answer answer = run({.operation = Operation::kBroadcast, .root = root}, numbers);
  if (answer.ok() && numbers != expected) return {Ended::kOther, "wrong numbers"};
  return answer;
}

void expect_failure(const std::string& what, const Answer& answer, const char* file, int line) {
  suite::step(fmt::format("{}: {}", what, to_string(answer.ended)));
  if (answer.ended == Ended::kPeerLost || answer.ended == Ended::kTimeout || answer.ended == Ended::kAborted)
    return;
  suite::report({.message = what + ": " + answer.text,
                 .expected = "peer_lost, timeout or aborted",
                 .got = to_string(answer.ended)},
                file, line);
}

void announce(const std::string& store, const std::string& mark, int rank) {
  std::ofstream(path_of(store, mark, rank)).put('1');
}

bool is_reported(const std::string& store, const std::string& mark, int rank) {
  return std::filesystem::exists(path_of(store, mark, rank));
}

void wait_for(const std::string& store, const std::string& mark, int ranks, int without) {
  for (int rank = 0; rank < ranks; ++rank) {
    while (rank != without && !is_reported(store, mark, rank))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace proctor::collectives
