// The driver stack of a run: captured before the first case, and again after the last one.
#pragma once

#include <string>
#include <vector>

#include "harness/journal/events.h"

namespace proctor {

class RunStack {
 public:
  explicit RunStack(std::string root);

  // Adds every fact to the plan, and the known ones also by name.
  void describe(RunPlanned& planned) const;
  // A result must be from one stack, so a change is a warning that makes the machine red.
  std::vector<Warning> check_again() const;

 private:
  std::string root_;
  std::vector<StackFact> before_;
};

}  // namespace proctor
