// A plan as a file, so that machines which run parts of it need not discover anything and cannot differ. It
// holds ids, suites, commands, resolved limits, and the policy of the run.
//
// It is JSON with `format`, `version` and `digest`: SHA-256 over everything else, so that nobody runs a plan
// that was edited or cut. Absolute paths below the directories where Proctor was started and where it is
// installed are written with a name in their place, since they differ between machines.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/plan/config.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"

namespace proctor {

struct PlanFile {
  Plan plan{};
  RunRequest run{};  // part_in_plan_file() of it (harness/request/merge_requests.h)
  Extent extent{};
  std::optional<PlannedRest> rest{};  // the cases are what these runs left
  // The content of the file from which it was read, in which directories are written as names. The digest is
  // made from this content, also if a path in it happens to be one of this machine's directories.
  std::string source{};
};

// Where the directories that a plan names lie on this machine; absolute.
struct PlanDirectories {
  std::string start;     // where proctor was started
  std::string programs;  // the directory of the executable
  std::string shared;    // share/proctor; "" = not installed
};

// It is an error if something in the plan cannot be written so that it is read back unchanged. In a plan that
// was read from a file, cases may have been left out and the policy changed; everything else is as in its
// source.
Result<std::string> plan_file_text(const PlanFile& file, const PlanDirectories& directories);

// `path` is for messages. Other files, newer versions and edited files are refused.
Result<PlanFile> parse_plan_file(const std::string& text, const std::string& path,
                                 const PlanDirectories& directories);

// The member `digest` of the plan's file.
Result<std::string> plan_file_digest(const PlanFile& file, const PlanDirectories& directories);

}  // namespace proctor
