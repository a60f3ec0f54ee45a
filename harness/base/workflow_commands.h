// GitHub Actions executes some lines of a step's output as commands (docs.github.com, "Workflow commands").
// These functions escape text for commands that Proctor writes. WorkflowCommandGuard disables commands in the
// output of other programs.
//
// A line is a command if it begins, after blanks, with `::NAME` and contains a second `::`. It is also a
// command if it contains `##[NAME]` anywhere, the older form (actions/runner,
// src/Runner.Common/ActionCommand.cs). Azure Pipelines does the same with `##vso[`. Lines end at \n, \r or
// both.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace proctor {

// Escape the text of a command, and the value of one of its properties.
std::string escape_command_data(std::string_view text);
std::string escape_command_property(std::string_view text);

// Inserts a backslash into the commands of a byte stream, and changes nothing else. `::` at a possible start
// of a line becomes `:\:`. `##[` becomes `##\[`. The guard needs no look-ahead and therefore delays no
// output.
//
// The guard does not use `::stop-commands::`, for three reasons. A runner reads stdout and stderr
// concurrently, so commands can be stopped on one stream and not yet on the other. Two programs in one step
// would enable each other's commands again. A killed program would leave the commands of the step disabled.
class WorkflowCommandGuard {
 public:
  // The start of a piece can be the start of a line, because other processes write to the same descriptor in
  // between.
  std::string pass(std::string_view piece);

  // Returns the number of commands that were changed.
  std::size_t broken() const { return broken_; }

 private:
  enum class Line { kStart, kColon, kInside };
  static constexpr std::string_view kAzure = "##vso";

  bool completes_a_command(char c) const;
  void follow(char c);

  Line line_ = Line::kStart;
  std::size_t prefix_ = 0;  // length of the prefix of kAzure at the end of the stream
  std::size_t broken_ = 0;
};

}  // namespace proctor
