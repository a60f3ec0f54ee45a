// World represents this process as a rank of its check: the group with the other ranks, and the operations in
// it. Example:
//
//   World world;  // connected to the other ranks, over the chosen library
//   world.verify({.operation = Operation::kAllReduce, .type = Type::kF32, .count = 17, .round = 1});
//
// All ranks of a check run the same code in the same order. They differ only in rank().
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "suites/collectives/library.h"
#include "suites/collectives/memory_space.h"
#include "suites/collectives/provider.h"
#include "suites/collectives/rule.h"

namespace proctor::collectives {

// The rank of this process, as set by the runner.
struct RankFacts {
  int rank = 0;
  int size = 1;
  std::string store;  // a directory for this check only
};
// Throws if the check was started without ranks.
RankFacts rank_facts();

// Time limit of operations that must succeed. It is long, because a busy machine can delay a rank. It is
// shorter than kHelperDeadline, so that a helper can still respond. Operations that must fail have a shorter
// limit.
inline constexpr std::chrono::milliseconds kGroupTimeout{15'000};

// The group of this rank. Its destructor waits for the other ranks.
class World {
 public:
  // Creates a group of all ranks of the check with that provider.
  explicit World(const std::string& provider = chosen_provider());
  // Creates a group of some ranks, or of this rank only. Its `name` must differ from that of every other
  // group of the check.
  explicit World(const GroupSpec& spec, const std::string& provider = chosen_provider());
  // Waits for the other ranks, unless an error occurred. Otherwise a rank that finishes early could break
  // connections that others are still setting up.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return spec_.rank; }
  int size() const { return spec_.size; }
  const std::string& store() const { return spec_.store; }

  Features features() const;
  bool supports(Operation operation, Type type, Reduction reduction = Reduction::kSum) const;
  // Ends the check as skip(unsupported:all_reduce:f16:sum) if the library lacks this operation.
  void need(Operation operation, Type type, Reduction reduction = Reduction::kSum);
  // Ends the check as skip(unsupported:all_reduce:bf16) if the library lacks the operation for every
  // reduction.
  void need_any(Operation operation, Type type);
  // Ends the check in all ranks, which must have the same reason.
  [[noreturn]] void skip(std::string reason);

  // Runs the exercise and returns the result. It reports every violation of the exercise's rule: a wrong
  // result, a changed byte next to it, a changed input, an error. An operation that the library lacks must be
  // refused; the step records that.
  Bytes verify(const Exercise& exercise, const char* file = __builtin_FILE(), int line = __builtin_LINE());
  // Runs an operation whose result has no closed formula: any input, and no comparison.
  Bytes result_of(const Exercise& exercise, const Bytes& input, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE());

  Answer send(int to, const Bytes& message, std::uint32_t tag = 0);
  // `message` must have the size of the expected message.
  Answer receive(int from, Bytes& message, std::uint32_t tag = 0, int* source = nullptr);
  Answer barrier();
  Answer abort();
  void set_timeout(std::chrono::milliseconds timeout) { group_->set_timeout(timeout); }

  // Gathers a digest of the bytes from each rank, and reports the ranks whose bytes differ.
  void expect_same_everywhere(const std::string& what, const Bytes& bytes,
                              const char* file = __builtin_FILE(), int line = __builtin_LINE());

  // Gathers the numbers of all ranks on every rank.
  Answer gather_everywhere(std::uint64_t own, std::vector<std::uint64_t>& all);

 private:
  void part();  // waits for the other ranks
  Answer run(const Call& call);
  Answer perform(const Exercise& exercise, const Bytes& input, Bytes& output);

  GroupSpec spec_;
  Provider& provider_;
  MemorySpace space_;
  std::unique_ptr<Group> group_;
  bool broken_ = false;
  int exceptions_;  // number of exceptions in flight at construction
};

std::string describe(const Exercise& exercise);

// If `answer` is not ok, ends the check as fail(collective:timeout) or similar. Continuing would only mean
// waiting for the other ranks.
void expect_ok(const std::string& what, const Answer& answer, const char* file = __builtin_FILE(),
               int line = __builtin_LINE());
void expect_ended(const std::string& what, Ended ended, const Answer& answer,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE());
// Reports the first element that differs, and the number of differences.
void expect_elements(const std::string& what, Type type, const Bytes& expected, const Bytes& got,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace proctor::collectives
