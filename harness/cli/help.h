// The text of `-h` (the options that people use) and `--help` (all), made from what CLI11 knows of a command and from one
// table (help.cc): its examples, the options that `-h` shows, and its exit codes. The man page and the completion are made
// of the same pieces. For CLI11 2.1.2 to 2.4.1.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace proctor::cli {

// The columns that help may use: COLUMNS if it is a number, else those of the terminal (0: there is none), else 100;
// and never fewer than 60.
std::size_t help_columns(const char* columns, std::size_t terminal);

// "report diff"; "" of proctor itself.
std::string command_path(const CLI::App& command);

// What stands for the value of an option, "DURATION", or for an argument, "SUITE...". "" of a flag.
std::string placeholder(const CLI::Option& option);
// "-j", "--jobs".
std::vector<std::string> option_names(const CLI::Option& option);

bool is_shown(const CLI::Option& option);
// Hidden commands have an empty group.
std::vector<const CLI::App*> all_commands(const CLI::App& app);
// Returns nullptr if no command has this name.
const CLI::App* command_named(const CLI::App& app, std::string_view name);
std::vector<const CLI::App*> shown_commands(const CLI::App& app);
std::vector<const CLI::Option*> shown_arguments(const CLI::App& command);
// The options with their group, without -h and --help, in the order of use.
struct OptionGroup {
  std::string name;
  std::vector<const CLI::Option*> options;
};
std::vector<OptionGroup> shown_groups(const CLI::App& command);

class HelpFormatter : public CLI::FormatterBase {
 public:
  // CLI11 has two flags for help. Its `help all` is -h here, the short one: mode All.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

// Both flags, and the formatter, for a command and those that are added below it afterwards.
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
  std::vector<Example> examples{};         // the first two are those of `-h`
  std::vector<std::string_view> common{};  // the options of `-h`, in this order; none: all
  std::vector<ExitText> exits{};
  bool takes_command = false;  // after `--`
};

// Of a command without a row: nothing.
const CommandHelp& help_of(std::string_view command);

}  // namespace proctor::cli
