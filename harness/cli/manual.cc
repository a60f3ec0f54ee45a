// `proctor manual page|schema|complete|words`: the man page, the schema of proctor.toml and what shells complete, from the
// definition of the command line and of the keys, so that all agree with --help and with the reader. Hidden: the build
// calls it and installs what it prints, and the completion of each shell calls it.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string_view>

#include "harness/base/words.h"
#include "harness/cli/commands.h"
#include "harness/cli/completion_words.h"
#include "harness/cli/help_formatter.h"
#include "harness/cli/help_text.h"
#include "harness/cli/offers.h"
#include "harness/journal/exit_code.h"
#include "harness/plan/config_schema.h"

namespace proctor::cli {
namespace {

constexpr std::string_view kDescription =
    "Proctor runs every test in its own contained process, enforces time limits on the whole process "
    "tree, and reports exactly one outcome per test. A test has exclusive use of its devices. The journal "
    "of a run survives a runner that is killed; reports and exit code are computed from it. The words after "
    "the first -- are a command to run.";

// ---- man page ----

// As roff text: what it would take for a request or change into another character is escaped.
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
  const std::string footer = command.get_footer();  // outlives its lines
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

// Whatever can be called: not those that only have commands of their own.
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

// A word of several lines cannot be offered in one.
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
      app.add_subcommand("manual", "Print what is made of the definition of commands and keys")->group("");
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
