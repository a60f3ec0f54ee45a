// libproctor_nccl.so: NCCL (https://github.com/NVIDIA/nccl) on device memory as a provider. Each process has
// one rank, on the current device of the thread that creates the group.
//
// Communicators are non-blocking, and the default stream is polled. Therefore every wait has a time limit,
// and abort() of another thread ends it.
#include "suites/collectives/provider.h"

#include <dlfcn.h>

#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "suites/collectives/nccl/api.h"

namespace proctor::collectives {
namespace {

using nccl::Code;
using nccl::to_string;
using Clock = std::chrono::steady_clock;

// cudaStreamQuery of the process's own CUDA Runtime, and the value of cudaErrorNotReady.
using QueryStream = int(nccl::Stream);
constexpr int kNotReady = 600;

// A barrier would need its own device memory, so it is not supported.
bool has(Operation operation) { return operation != Operation::kBarrier; }

class NcclGroup final : public Group {
 public:
  NcclGroup(const nccl::Api& api, QueryStream* query, const GroupSpec& spec)
      : api_(api), query_(query), spec_(spec) {}
  ~NcclGroup() override {
    if (failed_) abort();  // destroying the communicator would wait for its ranks
    if (communicator_ != nullptr) api_.destroy(communicator_);
  }

  Answer connect();
  Answer run(const Call& call) noexcept override;
  void set_timeout(std::chrono::milliseconds timeout) noexcept override { spec_.timeout = timeout; }
  Answer abort() noexcept override;

 private:
  Answer answer_of(const char* what, Code code) const;
  Answer settle(const char* what);
  std::optional<Answer> look(const char* what);
  Code enqueue(const Call& call);
  Code enqueue_parts(const Call& call);
  Code exchange(const Call& call, const std::vector<std::size_t>& sends,
                const std::vector<std::size_t>& receives, bool same_to_all);

  const nccl::Api& api_;
  QueryStream* const query_;
  GroupSpec spec_;
  std::mutex mutex_;  // protects the communicator from abort(), which frees it
  nccl::Communicator* communicator_ = nullptr;
  bool aborted_ = false;
  bool failed_ = false;  // the communicator is only usable for abort()
};

Answer NcclGroup::answer_of(const char* what, Code code) const {
  if (code == Code::kSuccess) return {};
  const char* error = api_.last_error(communicator_);
  const std::string text =
      std::string(what) + " returned " + to_string(code) + ": " + (error != nullptr ? error : "");
  if (code == Code::kInvalidArgument || code == Code::kInvalidUsage) return {Ended::kRefused, text};
  return {code == Code::kRemoteError ? Ended::kPeerLost : Ended::kOther, text};
}

Answer NcclGroup::connect() {
  nccl::UniqueId id{};
  const std::string key = spec_.store + "/nccl." + spec_.name;
  Answer met = spec_.rank == 0 ? answer_of("ncclGetUniqueId", api_.get_unique_id(&id))
                               : ccl::await(key, spec_.timeout, id);
  if (met.ok() && spec_.rank == 0) met = ccl::publish(key, id);
  if (!met.ok()) return met;
  nccl::Config config;
  config.blocking = 0;
  const Code code = api_.init_rank(&communicator_, spec_.size, id, spec_.rank, &config);
  if (code == Code::kSuccess || code == Code::kInProgress) return settle("ncclCommInitRankConfig");
  failed_ = true;
  return answer_of("ncclCommInitRankConfig", code);
}

// Waits until the communicator and the stream are idle. At the time limit it aborts.
Answer NcclGroup::settle(const char* what) {
  const auto limit = Clock::now() + spec_.timeout;
  while (Clock::now() < limit) {
    if (auto answer = look(what)) {
      failed_ = !answer->ok();
      return *answer;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  abort();
  return {Ended::kTimeout, std::string(what) + " did not end in time"};
}

// Returns nothing while the operation is in progress.
std::optional<Answer> NcclGroup::look(const char* what) {
  const std::lock_guard lock(mutex_);
  if (aborted_) return Answer{Ended::kAborted, "the group was aborted"};
  Code state = Code::kSuccess;
  const Code asked = api_.async_error(communicator_, &state);
  if (asked != Code::kSuccess) return answer_of("ncclCommGetAsyncError", asked);
  if (state == Code::kInProgress) return std::nullopt;
  if (state != Code::kSuccess) return answer_of(what, state);
  const int stream = query_(nullptr);
  if (stream == kNotReady) return std::nullopt;
  if (stream == 0) return Answer{};
  return Answer{Ended::kOther, std::string(what) + ": cudaStreamQuery returned " + std::to_string(stream)};
}

Answer NcclGroup::run(const Call& call) noexcept {
  try {
    if (!has(call.operation)) return {Ended::kRefused, "NCCL has no barrier"};
    if (call.operation == Operation::kReceive && call.root == kAnyRank) {
      return {Ended::kRefused, "NCCL can only receive from a given rank"};
    }
    if (call.tag != 0) return {Ended::kRefused, "NCCL's messages have no tags"};
    {
      const std::lock_guard lock(mutex_);
      if (aborted_) return {Ended::kAborted, "the group was aborted"};
      const Code code = enqueue(call);
      if (code != Code::kSuccess && code != Code::kInProgress)
        return answer_of(to_string(call.operation), code);
    }
    if (call.source != nullptr) *call.source = call.root;
    return settle(to_string(call.operation));
  } catch (const std::exception& error) {
    return {Ended::kOther, error.what()};
  }
}

Answer NcclGroup::abort() noexcept {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  nccl::Communicator* const communicator = std::exchange(communicator_, nullptr);
  if (communicator == nullptr) return {};
  const Code code = api_.abort(communicator);
  if (code == Code::kSuccess) return {};
  return {Ended::kOther, "ncclCommAbort returned " + to_string(code)};
}

Code NcclGroup::enqueue(const Call& call) {
  const auto type = ccl::data_type(call.type);
  const auto reduction = ccl::red_op(call.reduction);
  nccl::Communicator* const all = communicator_;
  switch (call.operation) {
    case Operation::kAllReduce:
      return api_.all_reduce(call.in, call.out, call.count, type, reduction, all, nullptr);
    case Operation::kReduce:
      return api_.reduce(call.in, call.out, call.count, type, reduction, call.root, all, nullptr);
    case Operation::kReduceScatter:
      return api_.reduce_scatter(call.in, call.out, call.count, type, reduction, all, nullptr);
    case Operation::kBroadcast:
      return api_.broadcast(call.in, call.out, call.count, type, call.root, all, nullptr);
    case Operation::kAllGather:
      return api_.all_gather(call.in, call.out, call.count, type, all, nullptr);
    case Operation::kSend:
      return api_.send(call.in, call.count, type, call.root, all, nullptr);
    case Operation::kReceive:
      return api_.receive(call.out, call.count, type, call.root, all, nullptr);
    default:
      return enqueue_parts(call);
  }
}

// Implements operations that not every NCCL version has, as its guide describes: sends and receives in one
// group.
Code NcclGroup::enqueue_parts(const Call& call) {
  const auto size = static_cast<std::size_t>(spec_.size);
  const bool is_root = spec_.rank == call.root;
  const std::vector<std::size_t> none(size, 0);
  const std::vector<std::size_t> each(size, call.count);
  std::vector<std::size_t> root_only(size, 0);
  root_only.at(static_cast<std::size_t>(call.root)) = call.count;
  switch (call.operation) {
    case Operation::kGather:
      return exchange(call, root_only, is_root ? each : none, true);
    case Operation::kScatter:
      return exchange(call, is_root ? each : none, root_only, false);
    case Operation::kAllToAll:
      return exchange(call, each, each, false);
    case Operation::kAllToAllv:
      return exchange(call, call.sends, call.receives, false);
    case Operation::kAllGatherv:
      return exchange(call,
                      std::vector<std::size_t>(size, call.receives.at(static_cast<std::size_t>(spec_.rank))),
                      call.receives, true);
    default:
      return Code::kInvalidUsage;
  }
}

// `same_to_all`: every rank receives the same part of `in`. Otherwise each rank receives the next part.
Code NcclGroup::exchange(const Call& call, const std::vector<std::size_t>& sends,
                         const std::vector<std::size_t>& receives, bool same_to_all) {
  const auto type = ccl::data_type(call.type);
  const std::size_t width = bytes_of(call.type);
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  Code first = api_.group_start();
  for (std::size_t peer = 0; peer < sends.size() && first == Code::kSuccess; ++peer) {
    const int rank = static_cast<int>(peer);
    if (sends[peer] > 0) first = api_.send(in, sends[peer], type, rank, communicator_, nullptr);
    if (first == Code::kSuccess && receives[peer] > 0) {
      first = api_.receive(out, receives[peer], type, rank, communicator_, nullptr);
    }
    if (!same_to_all) in += sends[peer] * width;
    out += receives[peer] * width;
  }
  const Code ended = api_.group_end();
  return first != Code::kSuccess ? first : ended;
}

class Nccl final : public Provider {
 public:
  Nccl(nccl::Api api, QueryStream* query) : api_(std::move(api)), query_(query) {}

  Identity identity() const noexcept override {
    return {.name = "nccl",
            .version = nccl::version_text(api_.version),
            .number = api_.version,
            .file = api_.file};
  }
  Memory memory() const noexcept override { return Memory::kDevice; }
  Features features() const noexcept override { return {.tags = false, .any_source = false}; }
  bool supports(Operation operation, Type, Reduction) const noexcept override { return has(operation); }
  bool takes_nothing(Operation) const noexcept override { return true; }
  Answer make_group(const GroupSpec& spec, std::unique_ptr<Group>& group) noexcept override {
    try {
      auto made = std::make_unique<NcclGroup>(api_, query_, spec);
      Answer answer = made->connect();
      if (answer.ok()) group = std::move(made);
      return answer;
    } catch (const std::exception& error) {
      return {Ended::kOther, error.what()};
    }
  }

 private:
  nccl::Api api_;
  QueryStream* query_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) Provider* proctor_collective_provider(std::string* reason) {
  static std::string why;
  static const std::optional<nccl::Api> kApi = nccl::load_api(why);
  if (!kApi) {
    *reason = why;
    return nullptr;
  }
  auto* query = reinterpret_cast<QueryStream*>(::dlsym(RTLD_DEFAULT, "cudaStreamQuery"));
  if (query == nullptr) {
    *reason = "this program has no CUDA Runtime";
    return nullptr;
  }
  static Nccl provider(*kApi, query);
  return &provider;
}

}  // namespace proctor::collectives
