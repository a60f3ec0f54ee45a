// Joins runs that were started one by one into one journal, like the tests of CTest
// (docs/reference/frameworks/ctest.md). The journal can be read like that of any other run. In contrast to shards
// (reports/merge/merge.h), the parts have no common plan. Each part has its own cases, configuration and devices. A
// repeated case is in several parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// A run that becomes a part of the joined run.
struct JoinPart {
  std::string place;  // "parts/3", its run directory in that of the joined run
  ResolvedRun run;
  std::int64_t ended_ms = 0;  // Unix time of its last record, by the file system; 0: unknown
};

// The parts, and the facts about the joined run itself.
struct JoinRequest {
  std::string run_id;
  std::vector<std::string> command_line;  // the command line of the program that started the parts
  std::vector<JoinPart> parts;            // in the order of their start
  std::vector<Warning> warnings{};        // about parts without a journal
};

// Returns the journal of the joined run. Each case has the verdict of the last part that contains it, and the attempts
// of all parts. A case that failed before it passed is flaky, and the run allows it, because the user requested the
// repeats. `parts` must not be empty.
std::vector<Event> join_runs(const JoinRequest& request);

}  // namespace proctor
