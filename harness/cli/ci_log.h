// What reads our output in CI may obey it (harness/core/workflow_commands.h).
#pragma once

#include <string>
#include <string_view>

namespace proctor::cli {

// GITHUB_ACTIONS=true, which GitHub sets for every step.
bool in_github_actions();

// Any text as a person and the log of a CI step may see it: clean, and no command.
std::string shown(std::string_view text);

// While it lives, the step obeys no command at all. For output that never passes through our hands: a case
// that got our own stdout and stderr.
class CommandPause {
 public:
  CommandPause();
  ~CommandPause();
  CommandPause(const CommandPause&) = delete;
  CommandPause& operator=(const CommandPause&) = delete;

 private:
  std::string token_;  // nobody can guess it
};

}  // namespace proctor::cli
