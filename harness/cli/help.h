// Formats `-h` (common options) and `--help` (all options). The text comes from CLI11's description of a command and
// from one table (help.cc): examples, the options of `-h`, and exit codes. The man page and the completion use the same
// functions. Works with CLI11 2.1.2 to 2.4.1.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace proctor::cli {

// Returns the columns of the help: COLUMNS if it is a number, else those of the terminal (0: none), else 100. The
// minimum is 60.
std::size_t help_columns(const char* columns, std::size_t terminal);

// Returns "report diff" for a subcommand; "" for proctor itself.
std::string command_path(const CLI::App& command);

// Returns the placeholder for the value of an option, "DURATION", or for an argument, "SUITE..."; "" for a flag.
std::string placeholder(const CLI::Option& option);
// Returns all names: "-j", "--jobs".
std::vector<std::string> option_names(const CLI::Option& option);

bool is_shown(const CLI::Option& option);
// Returns all commands. Hidden ones have an empty group.
std::vector<const CLI::App*> all_commands(const CLI::App& app);
// Returns nullptr if no command has this name.
const CLI::App* command_named(const CLI::App& app, std::string_view name);
std::vector<const CLI::App*> shown_commands(const CLI::App& app);
std::vector<const CLI::Option*> shown_arguments(const CLI::App& command);
// Options of one group, without -h and --help, in the order of the help.
struct OptionGroup {
  std::string name;
  std::vector<const CLI::Option*> options;
};
std::vector<OptionGroup> shown_groups(const CLI::App& command);

class HelpFormatter : public CLI::FormatterBase {
 public:
  // CLI11 has two help flags. Its `help all` (mode All) is used for -h, the short help.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

// Sets both flags and the formatter for a command, and for commands that are added below it later.
void use_help_formatter(CLI::App& app);

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
  std::vector<Example> examples{};         // `-h` shows the first two
  std::vector<std::string_view> common{};  // options of `-h` in this order; empty: all
  std::vector<ExitText> exits{};
  bool takes_command = false;  // true if a command follows after `--`
};

// Returns the help of a command; an empty one if the table has no row.
const CommandHelp& help_of(std::string_view command);

}  // namespace proctor::cli
