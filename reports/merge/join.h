// One run out of many that were started one by one, as CTest starts its tests (docs/reference/frameworks/ctest.md): a
// journal, which can be read like that of any other run. Unlike shards (reports/merge/merge.h), the parts have no
// common plan: each brings its own cases, configuration and devices, and a case may be in several of them, because it
// was repeated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

struct JoinPart {
  std::string place;  // "parts/3", its run directory in that of the whole
  ResolvedRun run;
  std::int64_t ended_ms = 0;  // Unix time of its last record, by the file system; 0: unknown
};

struct JoinRequest {
  std::string run_id;
  std::vector<std::string> command_line;  // of who started the parts
  std::vector<JoinPart> parts;            // in the order in which they were started
  std::vector<Warning> warnings{};        // of parts that have no journal
};

// Every case has the verdict of the last part that has it, and the attempts of all of them; one that was bad before it
// was good is flaky, which the run allows: whoever repeats tests has said that this is good enough. `parts` is not empty.
std::vector<Event> join_runs(const JoinRequest& request);

}  // namespace proctor
