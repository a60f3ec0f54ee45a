// A group in which an operation is expected to fail. Its failures do not end the check by themselves.
// For example:
//
//   FailingGroup group;
//   expect_ok("joining", group.join());
//   group.expect_loss(kLimit);
//   expect_failure("all_reduce without rank 1", group.all_reduce());
//
// A failure is an event that the other ranks must detect: a lost rank or an expired time limit. Neither
// success nor a wrong result counts as a failure. Some libraries have no time limit. Their ranks may wait
// endlessly for an expectedly lost rank. Such a rank announces that the runner will end it, and that end then
// counts as its failure.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "suites/collectives/provider.h"
#include "suites/collectives/world.h"

namespace proctor::collectives {

// A group of ranks of which one will fail.
class FailingGroup {
 public:
  // A group of all ranks of the check, with the name `name`.
  explicit FailingGroup(const std::string& name = "failing", const std::string& library = chosen_provider());
  explicit FailingGroup(const GroupSpec& spec, const std::string& library = chosen_provider());

  int rank() const { return spec_.rank; }
  int size() const { return spec_.size; }
  const GroupSpec& spec() const { return spec_; }

  Features features() const { return provider_.features(); }

  // Announces that another rank is lost from now on. Joining and operations must then fail within `limit`. If
  // the library has no time limits, an endless wait is not a failure of this rank.
  void expect_loss(std::chrono::milliseconds limit);
  Answer join();
  // Computes the sum over all ranks of rank + round + i, for i < count. Returns kOther if the sum is wrong.
  Answer all_reduce(int round = 0, std::size_t count = 257);
  Answer broadcast(int root = 0, std::size_t count = 257);
  Answer abort() { return group_->abort(); }
  // Ends the group with the normal call of its library.
  void leave() { group_.reset(); }

 private:
  class Watch;

  Answer run(Call call, std::vector<std::int64_t>& numbers);
  std::unique_ptr<Watch> watch(std::chrono::milliseconds limit) const;

  GroupSpec spec_;
  Provider& provider_;
  MemorySpace space_;
  std::unique_ptr<Group> group_;
  bool loss_expected_ = false;
};

// Reports a failure unless `answer` means that another rank is lost, that the time limit expired or that the
// operation was aborted.
void expect_failure(const std::string& what, const Answer& answer, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE());

// Marker files in the check's store. Ranks use them to announce their progress, independent of the library
// under test.
void announce(const std::string& store, const std::string& mark, int rank);
bool is_reported(const std::string& store, const std::string& mark, int rank);
// Returns when all of the first `ranks` ranks, except `without`, have written the mark.
void wait_for(const std::string& store, const std::string& mark, int ranks, int without = -1);

}  // namespace proctor::collectives
