// What the parts of a larger run tested, as one: a fact on which they differ is unknown, and a warning says so.
#pragma once

#include <string>
#include <vector>

#include "harness/core/events.h"
#include "reports/run_model.h"

namespace proctor {

struct TestedPart {
  std::string name;  // for messages
  const RunModel* model;
};

struct Tested {
  Subject subject{};
  std::vector<PlannedSuite> suites{};
  std::vector<ProgramRead> programs{};
  std::vector<Warning> warnings{};
};

Tested tested_by(const std::vector<TestedPart>& parts);

}  // namespace proctor
