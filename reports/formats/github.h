// What GitHub Actions shows of a run, as pure functions of its model: annotations, and the outputs of a step.
// The job summary is summary_markdown() (formats.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/formats/formats.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

struct Annotation {
  AnnotationLevel level = AnnotationLevel::kError;
  std::string title{};
  std::string message{};
  std::string file{};  // relative to the workspace; "": no place in the sources
  int line = 0;
};

// A step shows 10 annotations of each level and silently drops the rest (actions/runner, ExecutionContext.cs,
// _maxCountPerIssueType). So there is one for each distinct cause: first those that decide the exit code,
// then those with the most cases. If there are too many, the last one says how many are left out. A message
// holds at most 4,096 characters.
//
// `workspace`: the directory of the checkout, "" when unknown.
std::vector<Annotation> annotations(const ResolvedRun& run, const std::string& workspace);

// "::error title=...::...", one line without its newline.
std::string workflow_command(const Annotation& annotation);

}  // namespace proctor
