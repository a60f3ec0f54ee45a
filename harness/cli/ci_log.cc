#include "harness/cli/ci_log.h"

#include <cstdio>
#include <cstdlib>
#include <random>

#include "harness/core/text.h"
#include "harness/core/workflow_commands.h"

namespace proctor::cli {

bool in_github_actions() {
  const char* value = std::getenv("GITHUB_ACTIONS");
  return value && std::string_view(value) == "true";
}

std::string shown(std::string_view text) {
  const std::string clean = clean_text(text);
  return in_github_actions() ? WorkflowCommandGuard().pass(clean) : clean;
}

CommandPause::CommandPause() {
  std::random_device random;
  char word[9];
  for (int i = 0; i < 4; ++i) {
    std::snprintf(word, sizeof word, "%08x", static_cast<unsigned>(random()));
    token_ += word;
  }
  std::fprintf(stderr, "::stop-commands::%s\n", token_.c_str());
}

CommandPause::~CommandPause() { std::fprintf(stderr, "\n::%s::\n", token_.c_str()); }

}  // namespace proctor::cli
