// This process as a rank of its check: the group that it forms with the other ranks, and what it does there.
// Example:
//
//   World world;  // connected to the other ranks, over the chosen library
//   world.verify({.operation = Operation::kAllReduce, .type = Type::kF32, .count = 17, .round = 1});
//
// All ranks of a check do the same in the same order. They differ only in rank().
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

// Which rank of the check this process is, as the runner said.
struct RankFacts {
  int rank = 0;
  int size = 1;
  std::string store;  // a directory for this check alone
};
// Throws when the check was started without ranks.
RankFacts rank_facts();

// For what succeeds: wide, since a busy machine may make a rank late, and still below kHelperDeadline, so that a helper
// answers. What is to end without success has a shorter one.
inline constexpr std::chrono::milliseconds kGroupTimeout{15'000};

class World {
 public:
  // A group of all ranks of the check, over the provider of that name.
  explicit World(const std::string& provider = chosen_provider());
  // A group of some ranks, or of this one alone. Its `name` must differ from that of
  // every other group of the check.
  explicit World(const GroupSpec& spec, const std::string& provider = chosen_provider());
  // Waits for the other ranks, unless something went wrong. Without that, a rank that is done early could
  // break the connections that others are still making.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return spec_.rank; }
  int size() const { return spec_.size; }
  const std::string& store() const { return spec_.store; }

  Features features() const;
  bool supports(Operation operation, Type type, Reduction reduction = Reduction::kSum) const;
  // Ends the check as skip(unsupported:all_reduce:f16:sum) unless the library has this operation.
  void need(Operation operation, Type type, Reduction reduction = Reduction::kSum);
  // The same as skip(unsupported:all_reduce:bf16) unless it has it with some reduction.
  void need_any(Operation operation, Type type);
  // Ends the check in all ranks, which must have the same reason.
  [[noreturn]] void skip(std::string reason);

  // Runs the exercise and returns the result. It reports whatever the rule of the exercise forbids: another
  // result, a changed byte beside it, a changed input, an error. An operation that the library does not have
  // must be refused, and the step says so.
  Bytes verify(const Exercise& exercise, const char* file = __builtin_FILE(), int line = __builtin_LINE());
  // The same for operations whose result has no closed form: any input, and no comparison.
  Bytes result_of(const Exercise& exercise, const Bytes& input, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE());

  Answer send(int to, const Bytes& message, std::uint32_t tag = 0);
  // `message` must have the size of the message that is expected.
  Answer receive(int from, Bytes& message, std::uint32_t tag = 0, int* source = nullptr);
  Answer barrier();
  Answer abort();
  void set_timeout(std::chrono::milliseconds timeout) { group_->set_timeout(timeout); }

  // Gathers a digest of the bytes from each rank, and reports the ranks whose bytes differ.
  void expect_same_everywhere(const std::string& what, const Bytes& bytes,
                              const char* file = __builtin_FILE(), int line = __builtin_LINE());

  // Gives every rank the numbers of all ranks.
  Answer gather_everywhere(std::uint64_t own, std::vector<std::uint64_t>& all);

 private:
  void part();  // waits for the others
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

// Unless `answer` is ok, ends the check as fail(collective:timeout) or the like: to go on would only
// mean to wait for the other ranks.
void expect_ok(const std::string& what, const Answer& answer, const char* file = __builtin_FILE(),
               int line = __builtin_LINE());
void expect_ended(const std::string& what, Ended ended, const Answer& answer,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE());
// Reports the first element that differs, and how many differ.
void expect_elements(const std::string& what, Type type, const Bytes& expected, const Bytes& got,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace proctor::collectives
