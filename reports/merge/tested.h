// What the parts of a larger run tested, as one: a fact on which they differ is unknown, and a warning says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

struct TestedPart {
  std::string name;  // for messages
  const ResolvedRun& run;
};

struct Tested {
  Subject subject{};
  std::vector<PlannedSuite> suites{};
  std::vector<ProgramRead> programs{};
  std::optional<KnownFailuresFile> known_failures{};
  std::string size{};
  std::uint64_t seed = 0;
  std::string profile{};
  std::vector<Warning> warnings{};

  // All but the programs and the warnings, which are records of their own.
  void move_into(RunPlanned& plan);
};

Tested tested_by(const std::vector<TestedPart>& parts);

}  // namespace proctor
