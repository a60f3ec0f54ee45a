// `proctor manual page|completion`: the man page, or the words that bash completes, from the definition of
// the command line, so that both always agree with --help. Hidden: the build calls it, and installs what it
// prints.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

#include "harness/cli/commands.h"
#include "harness/core/exit_code.h"

namespace proctor::cli {
namespace {

constexpr std::string_view kDescription =
    "Each test is a subprocess in a containment that nothing escapes, with time limits on its whole tree, "
    "the exclusive "
    "right to the devices that it was given, and exactly one outcome. The journal of a run survives "
    "anything; reports and "
    "exit code are computed from it. What follows a first -- is a command of yours.";

struct Exit {
  int code;
  std::string_view meaning;
};
constexpr Exit kExits[] = {
    {kExitGreen, "everything planned was executed, or skipped with a reason, and all of it is good"},
    {kExitRed, "the code is red: a case failed, crashed, hung or ran into its limit"},
    {kExitUsage, "usage, or the plan was refused; nothing was started"},
    {kExitIncomplete, "something planned was not run, or nothing was executed"},
    {kExitMachine, "the machine is red: try elsewhere"},
};

using Commands = std::vector<const CLI::App*>;

Commands shown_commands(const CLI::App& app) {
  Commands all = app.get_subcommands([](const CLI::App*) { return true; });
  std::erase_if(all, [](const CLI::App* command) { return command->get_group().empty(); });
  return all;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  auto all = app.get_options();
  std::erase_if(all, [](const CLI::Option* option) { return option->get_group().empty(); });
  return all;
}

// "TEXT:{wait,fail}" is wait, fail; anything else has no list.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto open = type.find('{');
  const auto close = type.find('}');
  std::vector<std::string> values;
  if (open == std::string::npos || close == std::string::npos) return values;
  for (const char c : "," + type.substr(open + 1, close - open - 1)) {
    if (c == ',') {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

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
  if (option.get_items_expected_max() == 0) return {};
  std::string text;
  for (const auto& value : values_of(option)) text += (text.empty() ? "" : "|") + bold(value);
  if (text.empty()) text = italic(option.get_type_name().substr(0, option.get_type_name().find(':')));
  return " " + text;
}

std::string positional_text(const CLI::Option& option) {
  const std::string many = option.get_items_expected_max() > 1 ? "..." : "";
  const std::string name = italic(option.get_name(true)) + many;
  return option.get_required() ? name : "[" + name + "]";
}

std::string option_entry(const CLI::Option& option) {
  std::string head;
  for (const auto& name : names_of(option)) head += (head.empty() ? "" : ", ") + bold(name);
  head = option.get_positional() ? italic(option.get_name(true)) : head + value_text(option);
  return fmt::format(".TP\n{}\n{}\n", head, sentence(option.get_description()));
}

std::string usage(const CLI::App& command, const std::string& name) {
  std::string line = bold(name);
  const auto options = shown_options(command);
  const auto named = [&](const CLI::Option* option) {
    return !option->get_positional() && option != command.get_help_ptr();
  };
  if (std::any_of(options.begin(), options.end(), named)) line += " [" + italic("OPTIONS") + "]";
  for (const auto* option : options) {
    if (option->get_positional()) line += " " + positional_text(*option);
  }
  const bool takes_command = name == "proctor run" || name == "proctor exec" || name == "proctor list";
  if (takes_command)
    line += " [" + bold("--") + " " + italic("COMMAND") + " [" + italic("ARGUMENT") + "...]]";
  return line;
}

std::string footer_text(const CLI::App& command) {
  std::string lines = command.get_footer();
  const auto first = lines.find_first_not_of('\n');
  if (first == std::string::npos) return {};
  return ".PP\n.nf\n" + roff(lines.substr(first, lines.find_last_not_of('\n') + 1 - first)) + "\n.fi\n";
}

std::string command_sections(const CLI::App& app, const std::string& name) {
  std::string text;
  for (const auto* command : shown_commands(app)) {
    const std::string full = name + " " + command->get_name();
    text += fmt::format(".SS {}\n{}\n", usage(*command, full), sentence(command->get_description()));
    for (const auto* option : shown_options(*command)) {
      if (option != command->get_help_ptr()) text += option_entry(*option);
    }
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
      ".SH NAME\nproctor \\- run accelerator tests in a containment that nothing escapes\n"
      ".SH SYNOPSIS\n{}{}\n",
      PROCTOR_VERSION, synopsis(app, "proctor"), bold("proctor --version"));
  text += fmt::format(".SH DESCRIPTION\n{}\n.PP\nEach command has {}.\n.SH COMMANDS\n{}", roff(kDescription),
                      bold("--help"), command_sections(app, "proctor"));
  text += ".SH EXIT STATUS\nOf \\fBproctor run\\fR, the first that applies of 2, 1, 75, 3, 0:\n";
  for (const auto& exit : kExits)
    text += fmt::format(".TP\n.B {}\n{}\n", exit.code, sentence(std::string(exit.meaning)));
  text += ".TP\n.RI 128+ n\nStopped by signal n; reports are complete.\n";
  text += ".SH FILES\n.TP\n.I proctor.toml\nSuites and settings of a project, in the working directory.\n";
  text +=
      ".TP\n.I proctor\\-out/latest\nLink to the directory of the newest run: journal, reports, logs, "
      "evidence.\n";
  return text;
}

// ---- completion ----

std::string quoted(const std::string& text) { return "'" + text + "'"; }  // names and values have no quotes

std::string completion_cases(const CLI::App& app, const std::string& name) {
  std::string words;
  std::string values;
  for (const auto* command : shown_commands(app)) words += command->get_name() + " ";
  for (const auto* option : shown_options(app)) {
    for (const auto& option_name : names_of(*option)) {
      words += option_name + " ";
      const auto known = values_of(*option);
      if (known.empty() && option->get_items_expected_max() == 0) continue;
      values +=
          fmt::format("    {}) words='{}' ;;\n", quoted(name + " " + option_name), fmt::join(known, " "));
    }
  }
  std::string text = values + fmt::format("    {}*) words='{}' ;;\n", quoted(name + " "), words);
  for (const auto* command : shown_commands(app)) {
    text = completion_cases(*command, name + " " + command->get_name()) +
           text;  // the longer name is looked at first
  }
  return text;
}

void add_command_names(const CLI::App& app, const std::string& name, std::string& names) {
  for (const auto* command : shown_commands(app)) {
    const std::string full = name + " " + command->get_name();
    names += (names.empty() ? "" : "|") + quoted(full);
    add_command_names(*command, full, names);
  }
}

std::string completion(const CLI::App& app) {
  std::string names;
  add_command_names(app, "proctor", names);
  return fmt::format(
      "# Generated by `proctor manual completion`. What it has no words for, bash completes as files.\n"
      "_proctor() {{\n"
      "  local command=proctor words word i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    word=${{COMP_WORDS[i]}}\n"
      "    [ \"$word\" != -- ] || return 0  # a command of yours\n"
      "    case \"$command $word\" in\n"
      "    {}) command=\"$command $word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command ${{COMP_WORDS[COMP_CWORD - 1]}}\" in\n"
      "{}"
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\")\n"
      "}}\n"
      "complete -o default -F _proctor proctor\n",
      names, completion_cases(app, "proctor"));
}

}  // namespace

void add_manual_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("manual", "The man page, or bash's completion, to stdout")->group("");
  auto what = std::make_shared<std::string>();
  command->add_option("what", *what, "page or completion")
      ->required()
      ->check(CLI::IsMember({"page", "completion"}));
  command->callback([what, &app, &action] {
    action = [what, &app] {
      const std::string text = *what == "page" ? man_page(app) : completion(app);
      return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? kExitMachine : kExitGreen;
    };
  });
}

}  // namespace proctor::cli
