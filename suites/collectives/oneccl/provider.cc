// A provider that runs oneCCL on host memory.
#include "suites/collectives/provider.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suites/collectives/oneccl/api.h"

namespace proctor::collectives::oneccl {
namespace {

// A group of ranks over oneCCL on host memory, one rank for each process.
//
// A waiting operation cannot be ended: on the host, oneCCL has neither a timeout nor an abort. A rank that
// waits for a lost rank spins until the runner ends it.
class CclGroup final : public Group {
 public:
  CclGroup(const Api& api, const GroupSpec& spec) : api_(api), spec_(spec) {}
  ~CclGroup() override;

  Answer connect();
  Answer run(const Call& call) noexcept override;
  void set_timeout(std::chrono::milliseconds) noexcept override {}  // oneCCL has no timeout
  Answer abort() noexcept override;

 private:
  Answer answer_of(const char* what, Code code) const;
  Code execute(const Call& call);

  const Api& api_;
  const GroupSpec spec_;
  Communicator* communicator_ = nullptr;
  std::atomic<bool> aborted_{false};
};

// The C interface has no gather and no all_gatherv. Its host side has no average ("Unsupported onecclRedOp_t
// value", 2022.2.0). Every type is supported.
bool has(Operation operation, Reduction reduction) {
  if (operation == Operation::kGather || operation == Operation::kAllGatherv) return false;
  return !reduces(operation) || reduction != Reduction::kAverage;
}

CclGroup::~CclGroup() {
  if (communicator_ != nullptr && !aborted_) api_.destroy(communicator_);
}

Answer CclGroup::answer_of(const char* what, Code code) const {
  if (code == Code::kSuccess) return {};
  const bool refused =
      code == Code::kInvalidArgument || code == Code::kInvalidUsage || code == Code::kNotImplemented;
  const char* error = api_.last_error(communicator_);
  return {refused ? Ended::kRefused : Ended::kOther, std::string(what) + " returned " +
                                                         std::to_string(static_cast<int>(code)) + ": " +
                                                         (error != nullptr ? error : "")};
}

// oneCCL reads its own limit, in seconds, at its first start. That limit applies to connecting to rank 0, but
// not to waiting for missing ranks.
Answer CclGroup::connect() {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(spec_.timeout).count();
  ::setenv("CCL_KVS_CONNECTION_TIMEOUT", std::to_string(seconds).c_str(), 1);
  UniqueId id{};
  const std::string key = spec_.store + "/oneccl." + spec_.name;
  Answer met = spec_.rank == 0 ? answer_of("onecclGetUniqueId", api_.get_unique_id(&id))
                               : ccl::await(key, spec_.timeout, id);
  if (met.ok() && spec_.rank == 0) met = ccl::publish(key, id);
  if (!met.ok()) return met;
  Config config;
  config.version = static_cast<std::uint32_t>(api_.version);
  return answer_of(
      "onecclCommInitRankConfig",
      api_.init_rank(&communicator_, static_cast<std::size_t>(spec_.size), id, spec_.rank, &config));
}

Answer CclGroup::run(const Call& call) noexcept {
  try {
    if (aborted_) return {Ended::kAborted, "the group was aborted"};
    if (!has(call.operation, call.reduction)) {
      return {Ended::kRefused, std::string("oneCCL has no ") + to_string(call.operation) +
                                   (reduces(call.operation) ? " by average" : "")};
    }
    if (call.operation == Operation::kReceive && call.root == kAnyRank) {
      return {Ended::kRefused, "oneCCL can only receive from a given rank"};
    }
    if (call.tag != 0) return {Ended::kRefused, "oneCCL's messages have no tags"};
    return answer_of(to_string(call.operation), execute(call));
  } catch (const std::exception& error) {
    return {Ended::kOther, error.what()};
  }
}

// Affects later operations. A waiting operation continues.
Answer CclGroup::abort() noexcept {
  aborted_ = true;
  return {};
}

Code CclGroup::execute(const Call& call) {
  const DataType type = ccl::data_type(call.type);
  const RedOp reduction = ccl::red_op(call.reduction);
  Communicator* const all = communicator_;
  switch (call.operation) {
    case Operation::kAllReduce:
      return api_.all_reduce(const_cast<void*>(call.in), call.out, call.count, type, reduction, all, nullptr);
    case Operation::kReduce:
      return api_.reduce(call.in, call.out, call.count, type, reduction, call.root, all, nullptr);
    case Operation::kReduceScatter:
      return api_.reduce_scatter(call.in, call.out, call.count, type, reduction, all, nullptr);
    case Operation::kBroadcast:
      return api_.broadcast(spec_.rank == call.root ? call.in : call.out, call.out, call.count, type,
                            call.root, all, nullptr);
    case Operation::kScatter:
      return api_.scatter(call.in, call.out, call.count, type, call.root, all, nullptr);
    case Operation::kAllGather:
      return api_.all_gather(call.in, call.out, call.count, type, all, nullptr);
    case Operation::kAllToAll:
      return api_.all_to_all(call.in, call.out, call.count, type, all, nullptr);
    case Operation::kAllToAllv:
      return api_.all_to_allv(call.in, call.sends.data(), call.out, call.receives.data(), type, all, nullptr);
    case Operation::kSend:
      return api_.send(call.in, call.count, type, call.root, all, nullptr);
    case Operation::kReceive:
      if (call.source != nullptr) *call.source = call.root;
      return api_.receive(call.out, call.count, type, call.root, all, nullptr);
    // oneCCL has no barrier; a sum completes only after all ranks have taken part
    case Operation::kBarrier: {
      std::int32_t part = 1;
      std::int32_t sum = 0;
      return api_.all_reduce(&part, &sum, 1, DataType::kI32, RedOp::kSum, all, nullptr);
    }
    case Operation::kGather:
    case Operation::kAllGatherv:
      break;
  }
  return Code::kNotImplemented;
}

}  // namespace
}  // namespace proctor::collectives::oneccl

namespace proctor::collectives {

// ---- libproctor_oneccl.so: oneCCL (https://github.com/uxlfoundation/oneCCL) on host memory as a provider
// ----

namespace {

class OneCcl final : public Provider {
 public:
  explicit OneCcl(oneccl::Api api) : api_(std::move(api)) {}

  Identity identity() const noexcept override {
    const int number = api_.version;  // 2022.2.0 is 20220200
    return {.name = "oneccl",
            .version = std::to_string(number / 10'000) + "." + std::to_string(number / 100 % 100) + "." +
                       std::to_string(number % 100),
            .number = number,
            .file = api_.file};
  }
  Memory memory() const noexcept override { return Memory::kHost; }
  Features features() const noexcept override {
    return {.time_limit = false, .abort = false, .tags = false, .any_source = false};
  }
  bool supports(Operation operation, Type, Reduction reduction) const noexcept override {
    return oneccl::has(operation, reduction);
  }
  bool takes_nothing(Operation) const noexcept override { return true; }
  Answer make_group(const GroupSpec& spec, std::unique_ptr<Group>& group) noexcept override {
    try {
      auto made = std::make_unique<oneccl::CclGroup>(api_, spec);
      Answer answer = made->connect();
      if (answer.ok()) group = std::move(made);
      return answer;
    } catch (const std::exception& error) {
      return {Ended::kOther, error.what()};
    }
  }

 private:
  oneccl::Api api_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) Provider* proctor_collective_provider(std::string* reason) {
  static std::string why;
  static std::optional<oneccl::Api> api = oneccl::load_api(why);
  if (!api) {
    *reason = why;
    return nullptr;
  }
  static OneCcl provider(*api);
  return &provider;
}

}  // namespace proctor::collectives
