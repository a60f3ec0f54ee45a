// A library of collectives, as the suites use it. Each library is wrapped in a shared object
// beside the suites (libproctor_gloo.so), which is loaded when a check wants it. So a suite runs
// without any of these libraries.
//
//   Provider* provider = proctor_collective_provider(&reason);   // null: `reason` says why
//   std::unique_ptr<Group> group;
//   Answer answer = provider->make_group({.rank = 0, .size = 4, .store = directory, .name = "0"}, group);
//   answer = group->run({.operation = Operation::kAllReduce, .in = in, .out = out, .count = 17});
//
// Nothing here throws: an exception of a library becomes an Answer before it leaves the shared object. Both
// sides are parts of one build, so strings and vectors may cross the border.
//
// Threads. A group belongs to one thread at a time, but any thread may call abort() at any time.
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

// `digits` is the number of bits, without the sign, that a whole number may have and
// still be exact in the type.
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

// How an operation ended. peer_lost: another rank is gone. refused: the call was
// refused before it did anything.
enum class Ended { kOk, kPeerLost, kTimeout, kAborted, kRefused, kOther };
constexpr const char* to_string(Ended ended) {
  constexpr std::array<const char*, 6> kNames{"ok", "peer_lost", "timeout", "aborted", "refused", "other"};
  return kNames[static_cast<std::size_t>(ended)];
}

struct Answer {
  Ended ended = Ended::kOk;
  std::string text{};  // what the library said, or ""

  bool ok() const { return ended == Ended::kOk; }
};

inline constexpr int kAnyRank = -1;

// One operation as one rank calls it. Counts are in elements, and N is the number of ranks.
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
  std::uint32_t tag = 0;  // for send and receive
  std::vector<std::size_t> sends{};
  std::vector<std::size_t> receives{};
  int* source = nullptr;  // unless it is null, receive writes the sender's rank there
};

// What identifies a group and lets its ranks find each other. `name` is a file name: the groups of one store
// must have different names. This includes a group that is made again after a failure.
struct GroupSpec {
  int rank = 0;
  int size = 1;
  std::string store;  // an existing directory that all ranks share
  std::string name;
  std::chrono::milliseconds timeout{15'000};  // for making the group, and for each operation
};

class Group {
 public:
  virtual ~Group() = default;
  virtual Answer run(const Call& call) noexcept = 0;
  // For the operations to come, in place of GroupSpec::timeout.
  virtual void set_timeout(std::chrono::milliseconds timeout) noexcept = 0;
  // Operations that wait end as aborted, and so do all later ones. It may be called again.
  virtual Answer abort() noexcept = 0;
};

// Where `in` and `out` must lie.
enum class Memory { kHost, kDevice };

// Abilities, apart from operations, that not every library has.
struct Features {
  bool time_limit = true;  // operations end after GroupSpec::timeout; without it they wait for ever
  bool abort = true;       // abort() also ends operations that wait; without it only later ones
  bool tags = true;        // messages have tags
  bool any_source = true;  // receive understands kAnyRank
};

struct Identity {
  std::string name;     // "gloo"
  std::string version;  // "0.5.0"
  int number = 0;       // the version in the library's own counting
  std::string file;     // the file that was loaded
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual Identity identity() const noexcept = 0;
  virtual Memory memory() const noexcept = 0;
  virtual Features features() const noexcept = 0;
  // For operations that do not reduce, `reduction` has no meaning.
  virtual bool supports(Operation operation, Type type, Reduction reduction) const noexcept = 0;
  // Whether an operation on no elements does nothing, as it should. If a library does anything worse, such
  // calls are refused.
  virtual bool takes_nothing(Operation operation) const noexcept = 0;
  // When the answer is ok, `group` is the new group.
  virtual Answer make_group(const GroupSpec& spec, std::unique_ptr<Group>& group) noexcept = 0;
};

// Every shared object exports this function. It returns the only provider of the
// object, or null with a reason.
using GetProvider = Provider*(std::string* reason);
inline constexpr const char* kGetProvider = "proctor_collective_provider";

// The shared object of faults (fixtures/collectives) exports this function. It returns a provider that does
// what `real` does, except for the faults in PROCTOR_SIM_FAULTS; or null with a reason.
using WrapProvider = Provider*(Provider* real, std::string* reason);
inline constexpr const char* kWrapProvider = "proctor_collective_faults";
inline constexpr const char* kFaultsLibrary = "libproctor_collective_faults.so";

}  // namespace proctor::collectives
