// Rules about Dockerfiles that hadolint does not have: about lines that let a stack change over time, about code that
// comes in unchecked, and about the user that runs it (docs/how-to/stacks.md has all rules).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

struct LintFinding {
  int line = 0;
  std::string rule{};  // "loose-version"
  std::string what{};  // a fragment about this line
  std::string fix{};   // one sentence
};

using LintFindings = std::vector<LintFinding>;

// The findings in the order of lines.
LintFindings lint_dockerfile(std::string_view text);

}  // namespace proctor
