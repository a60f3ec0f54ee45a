// `proctor manual page|completion`: the man page, or the words that bash completes, from the definition of
// the command line, so that both always agree with --help. Hidden: the build calls it, and installs what it
// prints.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string_view>

#include "harness/cli/commands.h"
#include "harness/cli/completion_words.h"
#include "harness/cli/help_formatter.h"
#include "harness/cli/help_text.h"
#include "harness/core/exit_code.h"
#include "harness/core/words.h"

namespace proctor::cli {
namespace {

constexpr std::string_view kDescription =
    "Proctor runs every test in its own contained process, enforces time limits on the whole process "
    "tree, and reports exactly one outcome per test. A test has exclusive use of its devices. The journal "
    "of a run survives a runner that is killed; reports and exit code are computed from it. The words after "
    "the first -- are a command to run.";

// "ACTION:{wait,fail}" is wait, fail; anything else has no list.
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

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
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

std::string quoted(const std::string& text) { return "'" + text + "'"; }  // names and values have no quotes

// What of the machine completes this option or argument (harness/cli/completion_words.h), or "".
std::string kinds_of(const CLI::App& command, const CLI::Option& option) {
  if (command.get_name() == "explain" && option.get_positional()) return "cases rules";
  const std::map<std::string_view, std::string> kinds = {
      {"suites", "suites"},        {"--case", "cases"},
      {"case", "cases"},           {"run", "runs"},
      {"run_dir", "runs"},         {"reports", "runs"},
      {"DEVICE", "devices"},       {"--devices", "devices"},
      {"--containment", "layers"}, {"--require-containment", "layers"},
      {"--kind", "frameworks"}};
  const auto found = kinds.find(option.get_name(option.get_positional()));
  return found == kinds.end() ? "" : found->second;
}

std::string completion_cases(const CLI::App& app, const std::string& name) {
  std::string words;
  std::string kinds;
  std::string values;
  for (const auto* command : shown_commands(app)) words += command->get_name() + " ";
  for (const auto* option : shown_options(app)) {
    const std::string kind = kinds_of(app, *option);
    if (option->get_positional() && !kind.empty()) kinds += (kinds.empty() ? "" : " ") + kind;
    for (const auto& option_name : option_names(*option)) {
      words += option_name + " ";
      const auto known = values_of(*option);
      if (known.empty() && option->get_items_expected_max() == 0) continue;
      values += fmt::format("    {}) words='{}' kinds='{}' ;;\n", quoted(name + " " + option_name),
                            fmt::join(known, " "), kind);
    }
  }
  std::string text =
      values + fmt::format("    {}*) words='{}' kinds='{}' ;;\n", quoted(name + " "), words, kinds);
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
  // The line is taken apart here: bash breaks its words at the colons of ids. What the machine has (suites, ids) is
  // printed by `manual words`, and never expanded: an id may look like a command.
  return fmt::format(
      "# Generated by `proctor manual completion`. What it has no words for, bash completes as files.\n"
      "_proctor() {{\n"
      "  local command=proctor words='' kinds='' run='' last word current all\n"
      "  local line=${{COMP_LINE:0:COMP_POINT}}\n"
      "  current=${{line##*[[:space:]]}}\n"
      "  read -ra all <<< \"${{line%\"$current\"}}\"\n"
      "  last=${{all[-1]}}\n"
      "  for word in \"${{all[@]:1}}\"; do\n"
      "    [ \"$word\" != -- ] || return 0  # a command of yours\n"
      "    [ ! -f \"$word/journal.jsonl\" ] || run=$word\n"
      "    case \"$command $word\" in\n"
      "    {}) command=\"$command $word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  if [[ $current == --*=* ]]; then\n"
      "    last=${{current%%=*}} current=${{current#*=}}\n"
      "  fi\n"
      "  case \"$command $last\" in\n"
      "{}"
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  if [ -n \"$kinds\" ] && [[ $current != -* ]]; then\n"
      "    while IFS= read -r word; do\n"
      "      printf -v word %q \"$word\"\n"
      "      COMPREPLY+=(\"$word\")\n"
      "    done < <(\"${{all[0]}}\" manual words --kinds=\"$kinds\" ${{current:+\"--prefix=$current\"}} \\\n"
      "      ${{run:+\"--run=$run\"}} 2> /dev/null)\n"
      "  fi\n"
      "  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then  # only what follows the colon is "
      "replaced\n"
      "    word=${{current%\"${{current##*:}}\"}}\n"
      "    COMPREPLY=(\"${{COMPREPLY[@]#\"$word\"}}\")\n"
      "  fi\n"
      "}}\n"
      "complete -o default -F _proctor proctor\n",
      names, completion_cases(app, "proctor"));
}

struct ManualOptions {
  std::string what;
  std::string kinds;
  std::string prefix;
  std::string run;
};

std::string text_of(const ManualOptions& options, const CLI::App& app) {
  if (options.what == "page") return man_page(app);
  if (options.what == "completion") return completion(app);
  std::string lines;
  for (const std::string_view kind : split(options.kinds, ' ')) {
    for (const auto& word : completion_words(kind, options.run)) {
      if (word.starts_with(options.prefix) && word.find('\n') == std::string::npos) lines += word + '\n';
    }
  }
  return lines;
}

}  // namespace

void add_manual_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("manual", "Print the man page or the completion of bash")->group("");
  auto options = std::make_shared<ManualOptions>();
  command->add_option("what", options->what, "page, completion, or words, which completion asks for")
      ->required()
      ->check(one_of({"page", "completion", "words"}));
  command->add_option("--kinds", options->kinds,
                      "Which words: suites, cases, rules, runs, devices, layers, frameworks");
  command->add_option("--prefix", options->prefix, "Only those that begin with it");
  command->add_option("--run", options->run, "The run that cases and devices are of (default: the latest)");
  command->callback([options, &app, &action] {
    action = [options, &app] {
      const std::string text = text_of(*options, app);
      return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? kExitMachine : kExitGreen;
    };
  });
}

}  // namespace proctor::cli
