// Lint rules for Dockerfiles that hadolint does not have. They find lines that let a stack change over time, unverified
// code from the network, and mistakes about the user that runs the image. docs/how-to/stacks.md lists all rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

struct LintFinding {
  int line = 0;
  std::string rule{};  // "loose-version"
  std::string what{};  // a phrase about this line
  std::string fix{};   // one sentence
};

using LintFindings = std::vector<LintFinding>;

// Returns the findings in the order of lines.
LintFindings lint_dockerfile(std::string_view text);

}  // namespace proctor
