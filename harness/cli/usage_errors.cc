#include "harness/cli/usage_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/cli/help.h"

namespace proctor::cli {
namespace {

std::string full_name(const CLI::App& command) {
  const std::string path = command_path(command);
  return path.empty() ? "proctor" : "proctor " + path;
}

std::string see_help(const CLI::App& command) { return fmt::format("See `{} --help`.", full_name(command)); }

// Proctor's options, and the options of pytest and its plugins, CTest and GoogleTest with the same meaning.
constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
    {"--jobs", "-n --parallel"},
    {"--filter", "-k -R --tests-regex --gtest_filter"},
    {"--exclude", "-E --exclude-regex --deselect"},
    {"--fail-fast", "-x --maxfail --stop-on-failure"},
    {"--tag", "-m"},
    {"--label", "-L"},
    {"--dry-run", "-N --show-only --collect-only"},
    {"--show-output", "-s"},
    {"--verbose", "-V"}};

std::string option_meant(const CLI::App& command, const std::string& word) {
  const std::string name = word.starts_with("--") ? word : word.substr(0, 2);  // "-n" of "-n4"
  for (const auto& [ours, others] : kOthers) {
    const auto words = split(others, ' ');
    if (std::ranges::find(words, name) == words.end()) continue;
    if (command.get_option_no_throw(std::string(ours)) == nullptr) continue;
    return fmt::format("Did you mean `{}`? Options of the test program go after it, behind `--`.", ours);
  }
  std::vector<std::string> known;
  std::vector<std::string> continued;  // options that continue the typed one: "--retries" for "--retry"
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) {
      known.push_back("--" + name);
      if (word.size() > 5 && known.back().starts_with(word.substr(0, word.size() - 1)))
        continued.push_back(known.back());
    }
  }
  const std::string near = did_you_mean(word, known);
  if (!near.empty() || continued.empty()) return near;
  return fmt::format("Did you mean `{}`?", continued.front());
}

Error unknown_option(const CLI::App& command, const std::string& word) {
  const std::string bare = word.substr(0, word.find('='));
  const std::string meant = option_meant(command, bare);
  return Error::refused(fmt::format("`{}` is not an option of `{}`", bare, full_name(command)),
                        meant.empty() ? see_help(command) : meant);
}

// Handles `explain Xid 79`.
std::string cause_meant(const CLI::App& command, const std::string& word) {
  const auto* const id = command.get_name() == "explain" ? command.get_option_no_throw("case") : nullptr;
  const bool is_xid = id != nullptr && (id->results() == std::vector<std::string>{"Xid"} ||
                                        id->results() == std::vector<std::string>{"xid"});
  return is_xid ? fmt::format("Did you mean `xid:{}`?", word) : "";
}

Error unknown_word(const CLI::App& command, const std::string& word) {
  if (word.starts_with('-')) return unknown_option(command, word);
  const std::string name = full_name(command);
  if (word == "help") return Error::refused("`help` is not a command of `" + name + "`", see_help(command));
  if (command.get_name() == "exec") {
    return Error::refused(
        fmt::format("`{}` takes no argument `{}` before `--`", name, word),
        fmt::format("Put the command after `--`: {} [OPTIONS] -- {}", name, shell_quote(word)));
  }
  std::vector<std::string> known;
  for (const auto* below : all_commands(command)) known.push_back(below->get_name());
  const std::string hint = cause_meant(command, word);
  const bool may_be_argument = known.empty() || !shown_arguments(command).empty();
  const std::string_view what = may_be_argument ? "takes no argument" : "has no command";
  return Error::refused(fmt::format("`{}` {} `{}`", name, what, word),
                        did_you_mean(word, known, hint.empty() ? see_help(command) : hint));
}

// Returns the option or argument at the beginning of a CLI11 message: "--jobs: ...", "run_dir is required".
const CLI::Option* option_of(const CLI::App& command, std::string_view message) {
  const std::string name(message.substr(0, message.find_first_of(": ")));
  return command.get_option_no_throw(name);
}

std::string name_of(const CLI::Option& option) {
  return option.get_positional() ? placeholder(option) : option.get_name();
}

// Returns the first required option that was not given, or null.
const CLI::Option* missing_option(const CLI::App& command) {
  const auto missing = command.get_options(
      [](const CLI::Option* option) { return option->get_required() && option->count() == 0; });
  return missing.empty() ? nullptr : missing.front();
}

std::string required_text(const CLI::App& command, std::string_view what) {
  const CLI::Option* missing = missing_option(command);
  if (missing == nullptr && what.starts_with("A subcommand "))
    return fmt::format("`{}` needs a command", full_name(command));
  if (missing == nullptr)  // the command itself reported it: "VALUE is required"
    return fmt::format("`{}` needs {}", full_name(command), what.substr(0, what.find(' ')));
  const std::string value = missing->get_positional() ? "" : " " + placeholder(*missing);
  return fmt::format("`{}` needs {}{}", full_name(command), name_of(*missing), value);
}

// Rewrites a message about two options: "--plan excludes --name".
std::string of_two(std::string text, std::string_view verb, std::string_view instead) {
  const auto at = text.find(verb);
  return at == text.npos ? text : text.replace(at, verb.size(), instead);
}

std::string mismatch_text(const CLI::Option& option) {
  const std::string name = name_of(option);
  if (option.get_items_expected_max() == 0) return name + " takes no value";
  if (option.count() == 0) return fmt::format("{} needs a value: {}", name, placeholder(option));
  return fmt::format("{} takes one value (got {})", name, option.count());
}

std::string conversion_text(const CLI::Option& option) {
  std::string value;
  for (const auto& result : option.results()) value += (value.empty() ? "" : " ") + result;
  return fmt::format("{} must be a whole number (got `{}`)", name_of(option), value);
}

std::string text_of(const CLI::App& command, const CLI::ParseError& error) {
  std::string what = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error)) return required_text(command, what);
  if (dynamic_cast<const CLI::ExcludesError*>(&error))
    return of_two(std::move(what), " excludes ", " cannot be combined with ");
  if (dynamic_cast<const CLI::RequiresError*>(&error)) return what;  // "--write requires --online"
  constexpr std::string_view kNoNumber = "Could not convert: ";
  const bool is_conversion = what.starts_with(kNoNumber);
  if (is_conversion) what.erase(0, kNoNumber.size());
  const CLI::Option* option = option_of(command, what);
  if (option == nullptr) return what;
  const bool is_flag = option->get_items_expected_max() == 0;
  if (is_conversion && !is_flag) return conversion_text(*option);
  if (is_flag || dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return mismatch_text(*option);
  if (dynamic_cast<const CLI::ValidationError*>(&error))  // the text comes from Proctor's validator
    return name_of(*option) + " " + what.substr(std::min(what.size(), what.find(": ") + 2));
  return what;
}

}  // namespace

Result<void> turn_help(const CLI::App& app, std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help") return {};
  const CLI::App* command = &app;
  for (auto word = arguments.begin() + 1; word != arguments.end(); ++word) {
    const CLI::App* below = command_named(*command, *word);
    if (below == nullptr) return unknown_word(*command, *word);
    command = below;
  }
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
  return {};
}

const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const auto unknown = app.remaining(/*recurse=*/true);
  const bool about_words =
      dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error);
  const auto above = app.remaining();
  if (about_words && !above.empty()) return unknown_word(app, above.front());
  if (about_words && !unknown.empty()) return unknown_word(command, unknown.front());
  std::vector<std::string> known;
  for (const auto* below : shown_commands(command)) known.push_back(below->get_name());
  const bool is_bare = dynamic_cast<const CLI::RequiredError*>(&error) && !known.empty();
  const std::string commands = is_bare ? fmt::format("Commands: {}. ", fmt::join(known, ", ")) : "";
  return Error::refused(text_of(command, error), commands + see_help(command));
}

}  // namespace proctor::cli
