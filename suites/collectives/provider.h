// A library of collectives as the suites ask it. Each library is wrapped in a shared object beside the suites
// (libproctor_gloo.so) that is loaded when a check asks for it, so that a suite runs without any of them.
//
//   Provider* provider = proctor_collective_provider(&reason);   // null: cannot start, and why
//   std::unique_ptr<Group> group;
//   Answer answer = provider->make_group({.rank = 0, .size = 4, .store = directory, .name = "0"}, group);
//   answer = group->run({.operation = Operation::kAllReduce, .in = in, .out = out, .count = 17});
//
// Nothing here throws: whatever a library throws becomes an Answer before it leaves the shared object. Both
// sides are parts of one build, so strings and vectors may cross.
//
// Threads. A group belongs to one thread at a time, but abort() may come from any, at any time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace proctor::collectives {

enum class Type { kI8, kU8, kI32, kU32, kI64, kU64, kF16, kBf16, kF32, kF64 };
enum class Reduction { kSum, kProduct, kMin, kMax, kAverage };
enum class Operation {
  kAllReduce,
  kAllGather,
  kAllGatherv,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kAllToAllv,
  kSend,
  kReceive,
  kBarrier
};

// `digits`: bits that a number can have and be exact, the sign not counted.
struct TypeFacts {
  const char* name;
  std::size_t bytes;
  int digits;
  bool is_signed;
  bool is_float;
};
inline constexpr std::array<TypeFacts, 10> kTypes{{{"i8", 1, 7, true, false},
                                                   {"u8", 1, 8, false, false},
                                                   {"i32", 4, 31, true, false},
                                                   {"u32", 4, 32, false, false},
                                                   {"i64", 8, 63, true, false},
                                                   {"u64", 8, 64, false, false},
                                                   {"f16", 2, 11, true, true},
                                                   {"bf16", 2, 8, true, true},
                                                   {"f32", 4, 24, true, true},
                                                   {"f64", 8, 53, true, true}}};
inline constexpr std::array<const char*, 5> kReductions{"sum", "product", "min", "max", "average"};
inline constexpr std::array<const char*, 13> kOperations{
    "all_reduce", "all_gather", "all_gatherv", "reduce_scatter", "broadcast", "reduce", "gather",
    "scatter",    "all_to_all", "all_to_allv", "send",           "receive",   "barrier"};

constexpr const TypeFacts& facts_of(Type type) { return kTypes[static_cast<std::size_t>(type)]; }
constexpr std::size_t bytes_of(Type type) { return facts_of(type).bytes; }
constexpr const char* to_string(Type type) { return facts_of(type).name; }
constexpr const char* to_string(Reduction reduction) {
  return kReductions[static_cast<std::size_t>(reduction)];
}
constexpr const char* to_string(Operation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}
constexpr bool reduces(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduce ||
         operation == Operation::kReduceScatter;
}

// How an operation ended. peer_lost: another rank is gone. refused: the call itself, before it did anything.
enum class Ended { kOk, kPeerLost, kTimeout, kAborted, kRefused, kOther };
constexpr const char* to_string(Ended ended) {
  constexpr std::array<const char*, 6> kNames{"ok", "peer_lost", "timeout", "aborted", "refused", "other"};
  return kNames[static_cast<std::size_t>(ended)];
}

struct Answer {
  Ended ended = Ended::kOk;
  std::string text{};  // the library's own, "" when it said nothing

  bool ok() const { return ended == Ended::kOk; }
};

inline constexpr int kAnyRank = -1;

// One operation as one rank calls it. Counts are in elements; N ranks.
//
//   operation              in                          out
//   all_reduce             count                       count
//   reduce                 count                       count, of the root only
//   broadcast              count, of the root only     count
//   all_gather             count                       N x count, in the order of ranks
//   gather                 count                       N x count, of the root only
//   reduce_scatter         N x count                   count
//   scatter                N x count, of the root only count
//   all_to_all             N x count, a part for each  N x count, a part of each
//   all_gatherv            receives[rank]              the sum of receives, in the order of ranks
//   all_to_allv            the sum of sends            the sum of receives
//   send, receive          count                       count; `root` is the other rank, or kAnyRank for
//                                                      receive
//
// In place: `in` is `out`, or the rank's own part of it (all_gather, gather), or `out` is the rank's own part
// of `in` (reduce_scatter, scatter).
struct Call {
  Operation operation = Operation::kBarrier;
  Type type = Type::kF32;
  Reduction reduction = Reduction::kSum;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  int root = 0;
  std::uint32_t tag = 0;  // of send and receive
  std::vector<std::size_t> sends{};
  std::vector<std::size_t> receives{};
  int* source = nullptr;  // where not null, receive tells whose message it was
};

// What identifies a group and makes its ranks meet. `name` is a file name: groups of one store have different
// names, and a group that is made again after a failure has a new one.
struct GroupSpec {
  int rank = 0;
  int size = 1;
  std::string store;  // an existing directory that all ranks share
  std::string name;
  std::chrono::milliseconds timeout{10'000};  // of making the group, and of each operation
};

class Group {
 public:
  virtual ~Group() = default;
  virtual Answer run(const Call& call) noexcept = 0;
  // Whatever waits ends as aborted, and so does everything later. May be called again.
  virtual Answer abort() noexcept = 0;
};

// Where `in` and `out` must lie.
enum class Memory { kHost, kDevice };

// What not every library has, beyond its operations.
struct Features {
  bool time_limit = true;  // operations end as GroupSpec::timeout says; else they wait for ever
  bool abort = true;       // abort() ends what waits; else only what comes later
  bool tags = true;        // messages
  bool any_source = true;  // of messages: kAnyRank
};

struct Identity {
  std::string name;     // "gloo"
  std::string version;  // "0.5.0"
  int number = 0;       // the version as the library counts it
  std::string file;     // what the loader loaded
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual Identity identity() const noexcept = 0;
  virtual Memory memory() const noexcept = 0;
  virtual Features features() const noexcept = 0;
  // For operations that do not reduce, whatever the reduction.
  virtual bool supports(Operation operation, Type type, Reduction reduction) const noexcept = 0;
  // Whether an operation of no elements does nothing, as it should; what does worse is refused.
  virtual bool takes_nothing(Operation operation) const noexcept = 0;
  // ok: `group` is the new group.
  virtual Answer make_group(const GroupSpec& spec, std::unique_ptr<Group>& group) noexcept = 0;
};

// What every shared object exports: its one provider, or null with a reason.
using GetProvider = Provider*(std::string* reason);
inline constexpr const char* kGetProvider = "proctor_collective_provider";

// What the shared object of faults (fixtures/collectives) exports: a provider that does what `real` does, but
// for the faults in PROCTOR_SIM_FAULTS; or null with a reason.
using WrapProvider = Provider*(Provider* real, std::string* reason);
inline constexpr const char* kWrapProvider = "proctor_collective_faults";
inline constexpr const char* kFaultsLibrary = "libproctor_collective_faults.so";

}  // namespace proctor::collectives
