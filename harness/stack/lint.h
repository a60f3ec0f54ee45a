// Rules about Dockerfiles that hadolint does not have, or has only as style: what lets a stack drift, what
// brings code in unchecked, and who runs it (docs/stacks.md has all rules).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/stack/dockerfile.h"

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

// Groups of rules, each over the whole file.
void lint_images(const std::vector<DockerInstruction>& file, LintFindings& findings);
void lint_users(const std::vector<DockerInstruction>& file, LintFindings& findings);
void lint_downloads(const std::vector<DockerInstruction>& file, LintFindings& findings);
void lint_apt(const std::vector<DockerInstruction>& file, LintFindings& findings);

}  // namespace proctor
