// GitHub Actions obeys some lines of a step's output as commands (docs.github.com, "Workflow commands"). Here
// text of ours is escaped for such a command, and the text of others is kept from being one.
//
// A line is a command when it begins, after blanks, with `::NAME` and has a second `::`, or when it holds
// `##[NAME]` anywhere, the older form (actions/runner, src/Runner.Common/ActionCommand.cs). Azure Pipelines
// does the same with `##vso[`. Lines end at \n, \r or both.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace proctor {

// These escape the text of a command, and the value of one of its properties.
std::string escape_command_data(std::string_view text);
std::string escape_command_property(std::string_view text);

// Breaks the commands in a stream of bytes with a backslash, and changes nothing else: `::` where a line may
// begin becomes `:\:`, `##[` becomes `##\[`. It needs no look-ahead, so nothing is held back.
//
// `::stop-commands::` is not used: a runner reads stdout and stderr side by side, so commands that one of
// them stops are not stopped yet for the other; two programs in one step would start each other's commands
// again; and a program that is killed would leave the step's own commands dead.
class WorkflowCommandGuard {
 public:
  // The start of a piece may also be the start of a line, because others write to the same descriptor in
  // between.
  std::string pass(std::string_view piece);

  // How many commands were broken.
  std::size_t broken() const { return broken_; }

 private:
  enum class Line { kStart, kColon, kInside };
  static constexpr std::string_view kAzure = "##vso";

  bool completes_a_command(char c) const;
  void follow(char c);

  Line line_ = Line::kStart;
  std::size_t prefix_ = 0;  // how much of kAzure the stream ends with
  std::size_t broken_ = 0;
};

}  // namespace proctor
