// This process as a rank of its check: the group that it forms with the other ranks, and what it does there.
//
//   World world;                                          // connected, over the chosen library
//   world.verify({.operation = Operation::kAllReduce, .type = Type::kF32, .count = 17, .round = 1});
//
// The ranks of a check do the same in the same order; what tells them apart is rank().
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

// Which rank this process is of the check, as the runner told it.
struct RankFacts {
  int rank = 0;
  int size = 1;
  std::string store;  // a directory for this check alone
};
// Throws when the check was started without ranks.
RankFacts rank_facts();

inline constexpr std::chrono::milliseconds kGroupTimeout{10'000};
class World {
 public:
  // All ranks of the check, over the provider of that name.
  explicit World(const std::string& provider = chosen_provider());
  // Some of them, or this one alone; `name` differs from that of every other group of the check.
  explicit World(const GroupSpec& spec, const std::string& provider = chosen_provider());
  // Waits for the others, unless something went wrong: a rank that is through must not break the connections
  // of those that have yet to make them.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return spec_.rank; }
  int size() const { return spec_.size; }
  const std::string& store() const { return spec_.store; }

  Features features() const;
  bool supports(Operation operation, Type type, Reduction reduction = Reduction::kSum) const;
  // Ends the check as skip(unsupported:all_reduce:f16:sum) unless the library has it.
  void need(Operation operation, Type type, Reduction reduction = Reduction::kSum) const;

  // Runs the exercise and reports what its rule does not say: another result, a byte changed
  // around it, an input changed, an error. What the library does not have must be refused, and
  // the step says so. The result.
  Bytes verify(const Exercise& exercise, const char* file = __builtin_FILE(), int line = __builtin_LINE());
  // The same of operations whose result no closed form gives: any input, no comparison.
  Bytes result_of(const Exercise& exercise, const Bytes& input, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE());

  Answer send(int to, const Bytes& message, std::uint32_t tag = 0);
  // `message` has the size of what is expected.
  Answer receive(int from, Bytes& message, std::uint32_t tag = 0, int* source = nullptr);
  Answer barrier();
  Answer abort();

  // Whether every rank has the same bytes, which it tells by a gathering of digests.
  // Reports the ranks that differ.
  void expect_same_everywhere(const std::string& what, const Bytes& bytes,
                              const char* file = __builtin_FILE(), int line = __builtin_LINE());

  // The number of each rank, in every rank.
  Answer gather_everywhere(std::uint64_t own, std::vector<std::uint64_t>& all);

 private:
  Answer run(const Call& call);
  Answer perform(const Exercise& exercise, const Bytes& input, Bytes& output);

  GroupSpec spec_;
  Provider& provider_;
  MemorySpace space_;
  std::unique_ptr<Group> group_;
  bool broken_ = false;
  int exceptions_;  // under way when it was made
};

std::string describe(const Exercise& exercise);

// Ends the check as fail(collective:timeout) or the like unless `answer` is ok: after it, the other ranks
// would only be waited for.
void expect_ok(const std::string& what, const Answer& answer, const char* file = __builtin_FILE(),
               int line = __builtin_LINE());
void expect_ended(const std::string& what, Ended ended, const Answer& answer,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE());
// Reports the first element that differs, and how many do.
void expect_elements(const std::string& what, Type type, const Bytes& expected, const Bytes& got,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace proctor::collectives
