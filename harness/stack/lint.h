// Rules about Dockerfiles that hadolint does not have, or has only as style: what lets a stack drift, what
// brings code in unchecked, and who runs it (docs/stacks.md has all rules).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

struct LintFinding {
  int line = 0;
  std::string rule{};  // "unpinned-package"
  std::string what{};  // a fragment about this line
  std::string fix{};   // one sentence
};

using LintFindings = std::vector<LintFinding>;

// By line.
LintFindings lint_dockerfile(std::string_view text);

}  // namespace proctor
