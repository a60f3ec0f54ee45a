// The interface between the suites and a collective library. Each library is wrapped in a shared object next
// to the suites (libproctor_gloo.so), which a check loads when it needs the library. Therefore a suite runs
// on machines without any of these libraries. For example:
//
//   Provider* provider = proctor_collective_provider(&reason);   // null: `reason` says why
//   std::unique_ptr<Group> group;
//   Answer answer = provider->make_group({.rank = 0, .size = 4, .store = directory, .name = "0"}, group);
//   answer = group->run({.operation = Operation::kAllReduce, .in = in, .out = out, .count = 17});
//
// No function throws: the shared object converts exceptions of a library to an Answer. Both sides belong to
// the same build, so strings and vectors may be passed between them.
//
// Threads. A group belongs to one thread at a time. Any thread may call abort() at any time.
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

// The properties of a type. `digits` is the number of bits, without the sign, of the largest integers that
// the type represents exactly.
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

// The end of an operation. peer_lost: another rank is lost. refused: the library rejected the call before it
// had an effect.
enum class Ended { kOk, kPeerLost, kTimeout, kAborted, kRefused, kOther };
constexpr const char* to_string(Ended ended) {
  constexpr std::array<const char*, 6> kNames{"ok", "peer_lost", "timeout", "aborted", "refused", "other"};
  return kNames[static_cast<std::size_t>(ended)];
}

// The result of a call: its end and the message of the library.
struct Answer {
  Ended ended = Ended::kOk;
  std::string text{};  // message of the library, or ""

  bool ok() const { return ended == Ended::kOk; }
};

inline constexpr int kAnyRank = -1;

// One operation from the view of one rank. Counts are in elements, and N is the number of ranks.
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
// In-place operations: `in` is equal to `out`, or is the rank's own part of it (all_gather, gather). For
// reduce_scatter and scatter, `out` is the rank's own part of `in`.
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
  int* source = nullptr;  // if not null, receive stores the sender's rank here
};

// Identifies a group, so that its ranks find each other. `name` is a file name. All groups in a store must
// have different names, including a group that is created again after a failure.
struct GroupSpec {
  int rank = 0;
  int size = 1;
  std::string store;  // an existing directory, shared by all ranks
  std::string name;
  std::chrono::milliseconds timeout{15'000};  // for creating the group, and for each operation
};

// A group of ranks, from the view of one rank.
class Group {
 public:
  virtual ~Group() = default;
  virtual Answer run(const Call& call) noexcept = 0;
  // Sets the limit of later operations, which replaces GroupSpec::timeout.
  virtual void set_timeout(std::chrono::milliseconds timeout) noexcept = 0;
  // Ends waiting operations as aborted, and all later ones, too. It may be called again.
  virtual Answer abort() noexcept = 0;
};

// The memory type that `in` and `out` must have.
enum class Memory { kHost, kDevice };

// Optional features of a library, apart from operations.
struct Features {
  bool time_limit = true;  // operations end after GroupSpec::timeout; otherwise they wait forever
  bool abort = true;       // abort() also ends waiting operations; otherwise only later ones
  bool tags = true;        // messages have tags
  bool any_source = true;  // receive supports kAnyRank
};

// The name, version and file of a library.
struct Identity {
  std::string name;     // "gloo"
  std::string version;  // "0.5.0"
  int number = 0;       // the version in the library's own encoding
  std::string file;     // path of the loaded file
};

// A library that creates groups.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual Identity identity() const noexcept = 0;
  virtual Memory memory() const noexcept = 0;
  virtual Features features() const noexcept = 0;
  // `reduction` has no meaning for operations that do not reduce.
  virtual bool supports(Operation operation, Type type, Reduction reduction) const noexcept = 0;
  // Returns whether an operation on zero elements has no effect, as it should. If a library misbehaves, such
  // calls are refused.
  virtual bool takes_nothing(Operation operation) const noexcept = 0;
  // Creates a group in `group`, if the answer is ok.
  virtual Answer make_group(const GroupSpec& spec, std::unique_ptr<Group>& group) noexcept = 0;
};

// Every shared object exports this function. It returns the only provider of the object, or null with a
// reason.
using GetProvider = Provider*(std::string* reason);
inline constexpr const char* kGetProvider = "proctor_collective_provider";

// The shared object of faults (fixtures/collectives) exports this function. It returns a provider that
// behaves like `real`, except for the faults in PROCTOR_SIM_FAULTS. On failure it returns null with a reason.
using WrapProvider = Provider*(Provider* real, std::string* reason);
inline constexpr const char* kWrapProvider = "proctor_collective_faults";
inline constexpr const char* kFaultsLibrary = "libproctor_collective_faults.so";

}  // namespace proctor::collectives
