// The driver stack of a run: captured before the first case, and again after the last one.
#pragma once

#include <string>
#include <vector>

#include "harness/core/events.h"

namespace proctor {

class RunStack {
 public:
  explicit RunStack(std::string root);

  // Into the plan: every fact, and those that are known also by name.
  void describe(RunPlanned& planned) const;
  // A result is of one stack: a change is a warning that makes the machine red.
  std::vector<Warning> check_again() const;

 private:
  std::string root_;
  std::vector<StackFact> before_;
};

}  // namespace proctor
