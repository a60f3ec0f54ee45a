// The output for GitHub Actions, as pure functions of a run: annotations, and the outputs of a step. The job summary is
// summary_markdown() (formats.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/formats/formats.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// One message of a step, which GitHub shows in its summary and at a source line.
struct Annotation {
  AnnotationLevel level = AnnotationLevel::kError;
  std::string title{};
  std::string message{};
  std::string file{};  // relative to the workspace; "": the annotation has no source location
  int line = 0;
};

// Returns the annotations of a run. A step shows 10 annotations of each level and silently drops the others
// (actions/runner, ExecutionContext.cs, _maxCountPerIssueType). Therefore each distinct cause has one annotation.
// Causes that determine the exit code come first, then causes with the most cases. If there are too many, the last
// annotation states the number of omitted ones. A message has at most 4,096 characters.
//
// `workspace` is the directory of the checkout, "" if it is unknown.
std::vector<Annotation> annotations(const ResolvedRun& run, const std::string& workspace);

// Returns "::error title=...::...", one line without its newline.
std::string workflow_command(const Annotation& annotation);

}  // namespace proctor
