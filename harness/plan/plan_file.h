// A plan as a file. Machines that run parts of it do not discover cases and cannot differ. The file contains
// case ids, suites, commands, resolved limits, and the policy of the run.
//
// The format is JSON with `format`, `version` and `digest`. The digest is the SHA-256 of all other members,
// so that an edited or truncated plan is refused. Directories differ between machines. Absolute paths below
// the start directory and the installation directories are therefore written with placeholders.
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

// The content of a plan file.
struct PlanFile {
  Plan plan{};
  RunRequest run{};  // its part_in_plan_file() (harness/request/merge_requests.h)
  Extent extent{};
  std::optional<PlannedRest> rest{};  // the runs whose remaining cases this plan contains
  // The content of the file from which the plan was read, with placeholders for directories. The digest is
  // computed from this content. A path in it can be equal to a directory of this machine without changing the
  // digest.
  std::string source{};
};

// The absolute paths of the directories on this machine that a plan refers to.
struct PlanDirectories {
  std::string start;     // working directory of proctor
  std::string programs;  // directory of the executable
  std::string shared;    // share/proctor; "": not installed
};

// Returns the text of a plan file. It is an error if a part of the plan cannot be written without loss. If
// the plan was read from a file, only removed cases and a changed policy are allowed. All other content is
// copied from the source.
Result<std::string> plan_file_text(const PlanFile& file, const PlanDirectories& directories);

// Parses a plan file. `path` is for messages. Files of other formats, newer versions and edited files are
// refused.
Result<PlanFile> parse_plan_file(const std::string& text, const std::string& path,
                                 const PlanDirectories& directories);

// Returns the member `digest` of the plan's file.
Result<std::string> plan_file_digest(const PlanFile& file, const PlanDirectories& directories);

}  // namespace proctor
