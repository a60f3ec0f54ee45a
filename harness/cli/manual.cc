// Implements `proctor manual page|schema|complete|words`: the man page, the schema of proctor.toml, and the completion
// of shells. All come from the definition of the command line and of the keys, so they agree with --help and with the
// reader. The command is hidden. The build calls it and installs its output, and the completion of each shell calls it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/words.h"
#include "harness/classify/rules.h"
#include "harness/cli/commands.h"
#include "harness/cli/help.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/journal/containment_layer.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/config.h"
#include "harness/runner/machine/installation.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_resolver.h"

namespace proctor::cli {
namespace {

// Completion of words that depend on the machine. Nothing is started: cases and devices come from a run.

namespace fs = std::filesystem;
constexpr const char* kRuns = "proctor-out";

std::vector<std::string> suites() {
  std::error_code error;
  const ConfigOptions where{
      .directory = fs::current_path(error).string(),
      .config_file = {},
      .user_file = user_config_file(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME")),
      .profile = {}};
  const auto config = load_config(where, {}, Installation().builtin_suites());
  std::vector<std::string> names;
  if (!config) return names;
  const bool has_own = std::ranges::any_of(config->suites, [](const auto& suite) { return !suite.built_in; });
  for (const SuiteConfig& suite : config->suites) {
    if (suite.built_in == has_own) continue;  // the same choice as in `run` without names
    if (std::ranges::find(names, suite.suite.name) == names.end()) names.push_back(suite.suite.name);
  }
  return names;
}

std::vector<std::string> runs() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kRuns, error)) {
    if (fs::exists(entry.path() / "journal.jsonl", error)) found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found;
}

// Returns the words of one kind: suites (of the configuration), cases and devices (of `run`, "": the latest one here),
// rules (of the diagnosis), runs (below proctor-out/), layers (of containment) or frameworks. Empty if they cannot be
// read.
std::vector<std::string> completion_words(std::string_view kind, const std::string& run) {
  if (kind == "suites") return suites();
  if (kind == "runs") return runs();
  if (kind == "layers") return layer_names();
  if (kind == "frameworks") return kind_names();
  std::vector<std::string> words;
  if (kind == "rules") {
    for (const Rule& rule : rules()) words.push_back(rule.id);
  }
  if (kind != "cases" && kind != "devices") return words;
  const auto resolved =
      load_journal((run.empty() ? fs::path(kRuns) / "latest" : fs::path(run)) / "journal.jsonl");
  if (!resolved) return words;
  for (const ResolvedCase& test : resolved->cases) {
    if (kind == "cases") words.push_back(test.planned.id);
  }
  for (const PlannedDevice& device : resolved->plan.devices) {
    if (kind == "devices") words.push_back(device.id);
  }
  return words;
}

// Completes the word that the user is typing, from the same definition of the command line as --help. The completion
// script of each shell (harness/cli/completion/) calls `proctor manual complete -- WORD...`.

struct Offer {
  std::string word;         // the complete word: "--leaks=warn" if it began with "--leaks="
  std::string description;  // "" for suites and ids
};

// Returns wait and fail for "ACTION:{wait,fail}"; an empty list for any other form.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto open = type.find('{');
  const auto close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  std::vector<std::string> values;
  for (const std::string_view value : split(std::string_view(type).substr(open + 1, close - open - 1), ','))
    values.emplace_back(value);
  return values;
}

// Returns the kinds of words (completion_words()) that complete this option or argument.
std::vector<std::string_view> kinds_of(const CLI::App& command, const CLI::Option& option) {
  if (command.get_name() == "explain" && option.get_positional()) return {"cases", "rules"};
  static const std::map<std::string_view, std::string_view> kKinds = {
      {"suites", "suites"},        {"--case", "cases"},     {"case", "cases"},     {"run", "runs"},
      {"run_dir", "runs"},         {"reports", "runs"},     {"DEVICE", "devices"}, {"--devices", "devices"},
      {"--containment", "layers"}, {"--kind", "frameworks"}};
  const auto found = kKinds.find(option.get_name(option.get_positional()));
  return found == kKinds.end() ? std::vector<std::string_view>() : std::vector{found->second};
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return is_shown(*option) && !option->get_positional(); });
}

// Returns the option with that name if it takes a value, or null.
const CLI::Option* option_with_value(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : shown_options(command)) {
    const auto names = option_names(*option);
    if (std::ranges::find(names, name) == names.end()) continue;
    return option->get_items_expected_max() == 0 && values_of(*option).empty() ? nullptr : option;
  }
  return nullptr;
}

// The command line before the word that the user is typing.
struct Place {
  const CLI::App* command;
  std::string last;  // previous word
  std::string run;   // run directory in the line
  bool own_command = false;
};

Place place_of(const CLI::App& app, const std::vector<std::string>& words) {
  Place place{.command = &app, .last = {}, .run = {}};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    place.last = words[i];
    place.own_command = place.own_command || words[i] == "--";
    std::error_code none;
    if (std::filesystem::exists(std::filesystem::path(words[i]) / "journal.jsonl", none))
      place.run = words[i];
    if (const CLI::App* below = command_named(*place.command, words[i])) place.command = below;
  }
  return place;
}

void add_words(const Place& place, const CLI::Option& option, std::vector<Offer>& found) {
  for (const std::string& value : values_of(option)) found.push_back({value, ""});
  for (const std::string_view kind : kinds_of(*place.command, option)) {
    for (std::string& word : completion_words(kind, place.run)) found.push_back({std::move(word), ""});
  }
}

void add_names(const Place& place, bool options, std::vector<Offer>& found) {
  for (const CLI::App* command : shown_commands(*place.command))
    found.push_back({command->get_name(), command->get_description()});
  const auto arguments = shown_arguments(*place.command);
  for (const CLI::Option* argument : arguments) add_words(place, *argument, found);
  if (!options && !(found.empty() && arguments.empty())) return;
  for (const CLI::Option* option : shown_options(*place.command)) {
    for (const std::string& name : option_names(*option)) found.push_back({name, option->get_description()});
  }
}

// Returns the completions of the last word. `words` are the words after `proctor`. Empty if the word is a file, or
// belongs to the user's command.
std::vector<Offer> offers(const CLI::App& app, const std::vector<std::string>& words) {
  Place place = place_of(app, words);
  if (words.empty() || place.own_command) return {};
  const std::string& current = words.back();
  const auto equals = current.starts_with("--") ? current.find('=') : std::string::npos;
  const std::string before = equals == std::string::npos ? "" : current.substr(0, equals + 1);
  if (!before.empty()) place.last = current.substr(0, equals);
  std::vector<Offer> found;
  if (const CLI::Option* option = option_with_value(*place.command, place.last)) {
    add_words(place, *option, found);
    for (Offer& offer : found) offer.word.insert(0, before);
  } else {
    add_names(place, current.starts_with("-"), found);
  }
  std::erase_if(found, [&](const Offer& offer) { return !offer.word.starts_with(current); });
  return found;
}

constexpr std::string_view kDescription =
    "Proctor runs every test in its own contained process, enforces time limits on the whole process "
    "tree, and reports exactly one outcome per test. A test has exclusive use of its devices. The journal "
    "of a run survives a runner that is killed; reports and exit code are computed from it. The words after "
    "the first -- are a command to run.";

// ---- man page ----

// Escapes characters that roff would interpret or replace.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  if (!out.empty() && out.front() == '.') out.insert(0, "\\&");
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string sentence(std::string text) {
  if (!text.empty() && std::string_view(".!?").find(text.back()) == std::string_view::npos) text += '.';
  return roff(text);
}

std::string value_text(const CLI::Option& option) {
  const std::string value = placeholder(option);
  return value.empty() ? "" : " " + italic(value);
}

std::string argument_text(const CLI::Option& option) {
  const std::string name = italic(placeholder(option));
  return option.get_required() ? name : "[" + name + "]";
}

std::string entry(const std::string& head, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", head, sentence(std::string(text)));
}

std::string option_entry(const CLI::Option& option) {
  std::string head;
  for (const auto& name : option_names(option)) head += (head.empty() ? "" : ", ") + bold(name);
  return entry(head + value_text(option), option.get_description());
}

std::string usage(const CLI::App& command, const std::string& name) {
  std::string line = bold(name);
  if (!shown_groups(command).empty()) line += " [" + italic("OPTIONS") + "]";
  for (const auto* argument : shown_arguments(command)) line += " " + argument_text(*argument);
  if (help_of(command_path(command)).takes_command)
    line += " [" + bold("--") + " " + italic("COMMAND") + " [" + italic("ARGUMENT") + "...]]";
  return line;
}

std::string examples_text(const CommandHelp& help) {
  std::string text;
  for (const Example& example : help.examples)
    text += fmt::format(".PP\n{}:\n.PP\n.RS\n{}\n.RE\n", roff(example.task), bold(example.line));
  return text;
}

std::string exits_text(const CommandHelp& help) {
  std::string text;
  for (const ExitText& exit : help.exits) text += entry(bold(exit.code), exit.meaning);
  return text;
}

std::string footer_text(const CLI::App& command) {
  std::string text;
  const std::string footer = command.get_footer();  // must outlive its lines
  for (const std::string_view paragraph : lines_of(footer)) text += ".PP\n" + roff(paragraph) + "\n";
  return text;
}

std::string command_sections(const CLI::App& app, const std::string& name) {
  std::string text;
  for (const auto* command : shown_commands(app)) {
    const std::string full = name + " " + command->get_name();
    const CommandHelp& help = help_of(command_path(*command));
    text += fmt::format(".SS {}\n{}\n", usage(*command, full), sentence(command->get_description()));
    text += examples_text(help);
    for (const auto* argument : shown_arguments(*command))
      text += entry(italic(placeholder(*argument)), argument->get_description());
    for (const OptionGroup& group : shown_groups(*command)) {
      text += fmt::format(".PP\n{}:\n", roff(group.name));
      for (const auto* option : group.options) text += option_entry(*option);
    }
    if (!help.exits.empty()) text += ".PP\nExit codes:\n" + exits_text(help);
    text += footer_text(*command) + command_sections(*command, full);
  }
  return text;
}

// Returns the usage of all commands that can be called, without those that only have subcommands.
std::string synopsis(const CLI::App& app, const std::string& name) {
  std::string text;
  for (const auto* command : shown_commands(app)) {
    const std::string full = name + " " + command->get_name();
    if (command->get_require_subcommand_min() == 0) text += usage(*command, full) + "\n.br\n";
    text += synopsis(*command, full);
  }
  return text;
}

std::string man_page(const CLI::App& app) {
  std::string text = fmt::format(
      ".\\\" Generated by `proctor manual page`.\n"
      ".TH PROCTOR 1 \"\" \"proctor {}\" \"User Commands\"\n"
      ".SH NAME\nproctor \\- test runner for GPU code and GPU machines\n"
      ".SH SYNOPSIS\n{}{}\n",
      PROCTOR_VERSION, synopsis(app, "proctor"), bold("proctor --version"));
  text += fmt::format(".SH DESCRIPTION\n{}\n.PP\nEach command has {}.\n.SH COMMANDS\n{}", roff(kDescription),
                      bold("--help"), command_sections(app, "proctor"));
  text += ".SH EXIT STATUS\nOf \\fBproctor run\\fR, the first that applies of 2, 1, 75, 3, 0:\n" +
          exits_text(help_of("run"));
  text += ".SH FILES\n.TP\n.I proctor.toml\nSuites and settings of a project, in the working directory.\n";
  text +=
      ".TP\n.I proctor\\-out/latest\nLink to the directory of the newest run: journal, reports, logs, "
      "evidence.\n";
  return text;
}

// ---- completion ----

// Returns one line per completion. Words with a newline or tab are left out.
std::string offers_text(const CLI::App& app, const std::vector<std::string>& words) {
  std::string lines;
  for (const Offer& offer : offers(app, words)) {
    if (offer.word.find_first_of("\n\t") != std::string::npos) continue;
    lines += offer.word + (offer.description.empty() ? "" : '\t' + offer.description) + '\n';
  }
  return lines;
}

std::string words_text(const std::string& kinds) {
  std::string lines;
  for (const std::string_view kind : split(kinds, ' ')) {
    for (const auto& word : completion_words(kind, "")) lines += word + '\n';
  }
  return lines;
}

struct ManualOptions {
  std::string what;
  std::string kinds;
};

std::string text_of(const ManualOptions& options, const CLI::App& app, const AfterDashes& words) {
  if (options.what == "page") return man_page(app);
  if (options.what == "schema") return config_schema();
  if (options.what == "words") return words_text(options.kinds);
  return offers_text(app, words.value_or(std::vector<std::string>()));
}

}  // namespace

void add_manual_command(CLI::App& app, Action& action, const AfterDashes& after_dashes) {
  auto* command =
      app.add_subcommand("manual",
                         "Print documents that are generated from the definition of commands and keys")
          ->group("");
  auto options = std::make_shared<ManualOptions>();
  command
      ->add_option("what", options->what,
                   "page, schema (of proctor.toml), complete (the words after `--`, for shells), or words")
      ->required()
      ->check(one_of({"page", "schema", "complete", "words"}));
  command->add_option("--kinds", options->kinds,
                      "Which words: suites, cases, rules, runs, devices, layers, frameworks");
  command->callback([options, &app, &action, &after_dashes] {
    action = [options, &app, &after_dashes] {
      const std::string text = text_of(*options, app, after_dashes);
      return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? kExitMachine : kExitGreen;
    };
  });
}

}  // namespace proctor::cli
