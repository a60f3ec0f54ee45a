// A group that is expected to break. Its failures do not end the check by themselves.
//
//   FailingGroup group;
//   expect_ok("joining", group.join());
//   group.expect_loss(kLimit);
//   expect_failure("all_reduce without rank 1", group.all_reduce());
//
// A failure is something that the other ranks must notice: a rank that is gone, or a time limit that is over.
// Success is no failure, and neither is a wrong result. With a library that has no time limit, a rank that
// waits in vain for a rank that it expects to be lost announces that the runner will end it; that then counts
// as its end.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "suites/collectives/provider.h"
#include "suites/collectives/world.h"

namespace proctor::collectives {

class FailingGroup {
 public:
  // A group of all ranks of the check, called `name`.
  explicit FailingGroup(const std::string& name = "failing", const std::string& library = chosen_provider());
  explicit FailingGroup(const GroupSpec& spec, const std::string& library = chosen_provider());

  int rank() const { return spec_.rank; }
  int size() const { return spec_.size; }
  const GroupSpec& spec() const { return spec_; }

  Features features() const { return provider_.features(); }

  // Says that another rank is lost from here on: joining and operations are not to succeed any more, and end within
  // `limit`. To wait for ever, for want of limits, is then no fault of this rank.
  void expect_loss(std::chrono::milliseconds limit);
  Answer join();
  // The sum over all ranks of rank + round + i, at i < count; kOther when it is wrong.
  Answer all_reduce(int round = 0, std::size_t count = 257);
  Answer broadcast(int root = 0, std::size_t count = 257);
  Answer abort() { return group_->abort(); }
  // Ends the group in the way of its library.
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

// Reports unless `answer` says that another rank is lost, that the time is over or that the operation was
// aborted.
void expect_failure(const std::string& what, const Answer& answer, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE());

// Files in the check's store, with which its ranks tell each other how far they are, independently of the
// library under test.
void announce(const std::string& store, const std::string& mark, int rank);
bool is_reported(const std::string& store, const std::string& mark, int rank);
// Returns when all of the first `ranks` ranks, except `without`, have told it.
void wait_for(const std::string& store, const std::string& mark, int ranks, int without = -1);

}  // namespace proctor::collectives
