// What help, man page and completion say of a command beyond the options that it declares: its examples, the options
// that `-h` shows, and its exit codes. All of it is in one table (help_text.cc).
#pragma once

#include <string_view>
#include <vector>

namespace proctor::cli {

struct Example {
  std::string_view task;
  std::string_view line;
};

struct ExitText {
  std::string_view code;
  std::string_view meaning;
};

struct CommandHelp {
  std::string_view command{};              // "report diff"
  std::vector<Example> examples{};         // the first two are those of `-h`
  std::vector<std::string_view> common{};  // the options of `-h`, in this order; none: all
  std::vector<ExitText> exits{};
  bool takes_command = false;  // after `--`
};

// Of a command without a row: nothing.
const CommandHelp& help_of(std::string_view command);

}  // namespace proctor::cli
