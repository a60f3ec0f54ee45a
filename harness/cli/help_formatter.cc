#include "harness/cli/help_formatter.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "harness/base/words.h"
#include "harness/cli/add_options.h"
#include "harness/cli/help_text.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kDefaultColumns = 100;
constexpr std::size_t kLeastColumns = 60;
constexpr std::size_t kTextColumn = 30;  // where descriptions begin
constexpr std::size_t kShortExamples = 2;

std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// One line of text as lines of at most `columns`, each but the first behind `indent` blanks. A word that is longer than
// a line is not broken.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string lines;
  std::size_t column = indent;
  for (const std::string_view word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > columns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

std::string entry(const std::string& head, std::string_view text, std::size_t columns) {
  std::string line = "  " + head;
  if (line.size() + 2 > kTextColumn) {
    line += "\n" + std::string(kTextColumn, ' ');
  } else {
    line.resize(kTextColumn, ' ');
  }
  return line + wrapped(text, kTextColumn, columns) + "\n";
}

std::string option_head(const CLI::Option& option) {
  std::string head = joined(option_names(option), ", ");
  if (option.get_snames().empty()) head = "    " + head;
  const std::string value = placeholder(option);
  return value.empty() ? head : head + " " + value;
}

std::string usage(const CLI::App& app, const std::string& name, const CommandHelp& help) {
  std::string line = "Usage: " + name;
  if (!shown_groups(app).empty()) line += " [OPTIONS]";
  for (const CLI::Option* argument : shown_arguments(app))
    line += argument->get_required() ? " " + placeholder(*argument) : " [" + placeholder(*argument) + "]";
  if (!shown_commands(app).empty()) line += app.get_require_subcommand_min() == 0 ? " [COMMAND]" : " COMMAND";
  if (help.takes_command) line += " [-- COMMAND [ARGUMENT...]]";
  return line;
}

std::string examples(const CommandHelp& help, std::size_t count) {
  std::string text = help.examples.empty() ? "" : "\nExamples:\n";
  for (const Example& example : help.examples) {
    if (count-- == 0) break;
    text += "  # " + std::string(example.task) + "\n  " + std::string(example.line) + "\n";
  }
  return text;
}

std::string commands_and_arguments(const CLI::App& app, std::size_t columns) {
  std::string text;
  const auto commands = shown_commands(app);
  if (!commands.empty()) text += "\nCommands:\n";
  for (const CLI::App* command : commands)
    text += entry(command->get_name(), command->get_description(), columns);
  const auto arguments = shown_arguments(app);
  if (!arguments.empty()) text += "\nArguments:\n";
  for (const CLI::Option* argument : arguments)
    text += entry(placeholder(*argument), argument->get_description(), columns);
  return text;
}

std::string all_options(const CLI::App& app, std::size_t columns) {
  std::string text;
  for (const OptionGroup& group : shown_groups(app)) {
    text += "\n" + group.name + ":\n";
    for (const CLI::Option* option : group.options)
      text += entry(option_head(*option), option->get_description(), columns);
  }
  text += "\nHelp:\n";
  for (const CLI::Option* flag : {app.get_help_all_ptr(), app.get_help_ptr()}) {
    if (flag != nullptr) text += entry(option_head(*flag), flag->get_description(), columns);
  }
  return text;
}

std::string common_options(const CLI::App& app, const CommandHelp& help, std::size_t columns) {
  std::string text = "\nOptions:\n";
  for (const std::string_view name : help.common) {
    const CLI::Option* option = app.get_option_no_throw(std::string(name));
    if (option != nullptr) text += entry(option_head(*option), option->get_description(), columns);
  }
  return text;
}

std::string exits_and_notes(const CLI::App& app, const CommandHelp& help, std::size_t columns) {
  std::string text = help.exits.empty() ? "" : "\nExit codes:\n";
  for (const ExitText& exit : help.exits) text += entry(std::string(exit.code), exit.meaning, columns);
  const std::string footer = app.get_footer();
  if (footer.empty()) return text;
  text += "\n";
  for (const std::string_view paragraph : split(footer, '\n')) text += wrapped(paragraph, 0, columns) + "\n";
  return text;
}

// In the order of use, and those of one group together.
std::size_t rank_of(const std::string& group) {
  const auto& known = option_headings();
  const auto found = std::ranges::find(known, group);
  return found == known.end() ? 0 : static_cast<std::size_t>(found - known.begin()) + 1;
}

}  // namespace

std::size_t help_columns(const char* columns, std::size_t terminal) {
  std::size_t wanted = 0;
  if (columns != nullptr) {
    const char* end = columns + std::strlen(columns);
    const auto [stop, error] = std::from_chars(columns, end, wanted);
    if (error != std::errc() || stop != end) wanted = 0;
  }
  if (wanted == 0) wanted = terminal;
  return wanted == 0 ? kDefaultColumns : std::max(wanted, kLeastColumns);
}

std::string command_path(const CLI::App& command) {
  if (command.get_parent() == nullptr) return {};
  const std::string above = command_path(*command.get_parent());
  return above.empty() ? command.get_name() : above + " " + command.get_name();
}

std::string placeholder(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string type = option.get_type_name();
  const std::string name = type.substr(0, type.find(':'));
  const bool many = option.get_positional() && option.get_items_expected_max() > 1;
  return many ? name + "..." : name;
}

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<const CLI::App*> all_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* /*command*/) { return true; });
}

const CLI::App* command_named(const CLI::App& app, std::string_view name) {
  const auto commands = all_commands(app);
  const auto found =
      std::ranges::find(commands, name, [](const CLI::App* command) { return command->get_name(); });
  return found == commands.end() ? nullptr : *found;
}

bool is_shown(const CLI::Option& option) {
  return !option.get_group().empty() && option.get_group() != kHiddenHeading;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> shown_arguments(const CLI::App& command) {
  return command.get_options(
      [](const CLI::Option* option) { return option->get_positional() && !option->get_group().empty(); });
}

std::vector<OptionGroup> shown_groups(const CLI::App& command) {
  std::vector<OptionGroup> groups;
  const auto shown = command.get_options([&](const CLI::Option* option) {
    const bool is_help = option == command.get_help_ptr() || option == command.get_help_all_ptr();
    return !is_help && !option->get_positional() && is_shown(*option);
  });
  for (const CLI::Option* option : shown) {
    auto group = std::ranges::find(groups, option->get_group(), &OptionGroup::name);
    if (group == groups.end()) group = groups.insert(group, {option->get_group(), {}});
    group->options.push_back(option);
  }
  std::ranges::stable_sort(groups, {}, [](const OptionGroup& group) { return rank_of(group.name); });
  return groups;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const std::size_t columns = help_columns(std::getenv("COLUMNS"), terminal_columns());
  const CommandHelp& help = help_of(command_path(*app));
  const bool in_short = mode == CLI::AppFormatMode::All && !help.common.empty();
  std::string text = wrapped(app->get_description(), 0, columns) + "\n\n";
  text += wrapped(usage(*app, name, help), std::string_view("Usage: ").size(), columns) + "\n";
  text += examples(help, in_short ? kShortExamples : help.examples.size());
  text += commands_and_arguments(*app, columns);
  if (in_short) {
    text += common_options(*app, help, columns) + "\n";
    return text + "All options: `" + name + " --help`\n";
  }
  return text + all_options(*app, columns) + exits_and_notes(*app, help, columns);
}

void use_help_formatter(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("--help", "Show all options, with examples");
  app.set_help_all_flag("-h", "Show the most used options");
}

}  // namespace proctor::cli
