#include "harness/cli/help.h"

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
#include "harness/request/option.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kDefaultColumns = 100;
constexpr std::size_t kLeastColumns = 60;
constexpr std::size_t kTextColumn = 30;  // column where descriptions begin
constexpr std::size_t kShortExamples = 2;

std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Wraps one line of text at `columns`. All lines but the first are indented by `indent` blanks. A word that is longer
// than a line is not broken.
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

// Returns the rank of a group, so that options are in the order of the headings and grouped.
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

namespace {

// Returns `shown` and the options of the table that the command shows with -h.
std::vector<std::string_view> short_help(unsigned command, std::vector<std::string_view> shown = {}) {
  for (const Option& option : options()) {
    if ((option.short_help & command) != 0) shown.push_back(option.long_name());
  }
  return shown;
}

// The help of every visible command, and of `manual`, which shells call.
const std::vector<CommandHelp>& commands() {
  static const std::vector<CommandHelp> kCommands = {
      {.command = "run",
       .examples = {{"Run any test program on one device of the vendor that it needs",
                     "proctor run -- ./gpu_tests"},
                    {"Run the suites of proctor.toml", "proctor run"},
                    {"Run two built-in suites on simulated devices",
                     "proctor run memory kernels --sim xpu:2x2,cuda:4 --backend all"},
                    {"Give every pytest case two CUDA devices",
                     "proctor run --gpus 2 --backend cuda -- pytest tests/gpu"},
                    {"Run some of the cases, and retry each failed one twice",
                     "proctor run --retries 2 --filter '*Copy*' -- ./gpu_tests"}},
       .common = short_help(kForRun),
       .exits = {{"0",
                  "Everything planned was executed or skipped with a reason, and every executed test passed"},
                 {"1", "A test failed, crashed, hung or timed out"},
                 {"2", "Usage error, or the plan was refused; nothing was started"},
                 {"3", "Something planned was not run, nothing was executed, or the runner was killed"},
                 {"75", "The machine is at fault: retry on another machine"},
                 {"128+n", "Stopped by signal n; the reports are complete"}},
       .takes_command = true},
      {.command = "exec",
       .examples = {{"Run a command with a time limit for its whole process tree",
                     "proctor exec --timeout 30m -- ./train.sh"},
                    {"Run a command on one CUDA device",
                     "proctor exec --gpus 1 --backend cuda -- python3 train.py"},
                    {"Run a server, and count its time limit from its line of readiness",
                     "proctor exec --ready-regex 'listening on' --timeout 10m -- ./server"}},
       .common = short_help(kForExec),
       .exits = {{"0..255", "That of the command, if the command exits by itself"},
                 {"75", "The machine is at fault: retry on another machine"},
                 {"124", "Proctor terminated the command at its time limit or stall limit"},
                 {"125", "Proctor failed, or the command line is wrong"},
                 {"126", "The command cannot be executed"},
                 {"127", "The command is not found"},
                 {"128+n", "The command or Proctor was terminated by signal n"}},
       .takes_command = true},
      {.command = "accept",
       .examples = {{"Judge every device in about five minutes", "proctor accept"},
                    {"Compare the machine with its expected devices",
                     "proctor devices --expect-file machine.toml && proctor accept --expect machine.toml"},
                    {"Try 75 % of the memory and every core, and drain the devices that fail",
                     "proctor accept --level 3 --drain"}},
       .common = short_help(kForAccept),
       .exits = {{"0", "Every device passed"},
                 {"1", "A device failed"},
                 {"2", "Usage error, or the plan was refused; nothing was started"},
                 {"3", "No device failed, and not all that the level requires was proven"},
                 {"75", "The machine is at fault: retry on another machine"},
                 {"128+n", "Stopped by signal n; the verdicts are those of the completed steps"}}},
      {.command = "slurm accept",
       .examples = {{"Judge four nodes, and compare them with each other",
                     "salloc -N 4 proctor slurm accept -- --level 3"}},
       .exits = {{"0", "Every node passed"},
                 {"1", "A node failed"},
                 {"2", "Usage error, or this is not in a Slurm job"},
                 {"3", "No node failed, and one gave no verdict or is incomplete"},
                 {"75", "Slurm failed"}},
       .takes_command = true},
      {.command = "plan",
       .examples = {{"Write a plan, to run a part of it on each of four machines",
                     "proctor plan -o plan.json"},
                    {"Plan the cases of one program",
                     "proctor plan -o plan.json --backend cuda -- ./gpu_tests"}},
       .common = short_help(kForPlan, {"--output"}),
       .takes_command = true},
      {.command = "manual", .takes_command = true},
      {.command = "init",
       .examples = {{"Write a proctor.toml for the tests of this directory, and run them",
                     "proctor init && proctor run"},
                    {"Show what would be written", "proctor init --dry-run build"}},
       .exits = {{"0", "The file is written"},
                 {"2",
                  "There is a proctor.toml already, no tests were found, or the directory cannot be read"},
                 {"75", "The machine is at fault"}}},
      {.command = "list",
       .examples = {{"List the cases of a program", "proctor list -- ./gpu_tests"},
                    {"List the built-in cases for two simulated devices as JSON",
                     "proctor list --sim xpu:2x1 --json"}},
       .common = short_help(kForList, {"--json"}),
       .takes_command = true},
      {.command = "rerun",
       .examples = {{"Rerun the failed cases of the newest run", "proctor rerun --failed"},
                    {"Rerun one case of it, with a longer time limit",
                     "proctor rerun --case Cache.IsEmpty --timeout 10m"},
                    {"Find out whether the code or a device is at fault",
                     "proctor rerun --failed --repeat 25 --each-device"},
                    {"Find the cases that make one fail in their batch",
                     "proctor rerun --bisect my_test/Cache.IsEmpty"}},
       .common = {"--failed", "--case", "--bisect", "--repeat", "--jobs", "--timeout", "--each-device",
                  "--out", "--dry-run", "--verbose"}},
      {.command = "report",
       .examples = {{"Show what changed between two runs", "proctor report diff before/ after/"},
                    {"Merge the runs of a plan's shards", "proctor report merge shard-*/ --out merged"}}},
      {.command = "report render",
       .examples =
           {{"Write the reports of the newest run again", "proctor report render proctor-out/latest"},
            {"Write one format to another directory",
             "proctor report render proctor-out/latest --format otlp --out traces"},
            {"Unpack a run from another machine, and make its reports",
             "proctor report render proctor-xpu-B580-25.48.36300-20261129.tar.gz"},
            {"Make one page of two runs", "proctor report render cuda/ xpu/ --format page --out page.html"},
            {"Make a page with the past of each case",
             "proctor report render proctor-out/latest --format page --history runs.db --out page.html"},
            {"In a step of GitHub Actions: annotate the failures",
             "proctor report render proctor-out/latest --format github"}},
       .common = {"--format", "--out", "--against", "--history", "--gate", "--coverage"},
       .exits = {{"0", "Written, whatever the verdict of the run"},
                 {"2", "Something cannot be read or written"}}},
      {.command = "report pack",
       .examples = {{"Write the newest run as one file to send", "proctor report pack proctor-out/latest"}}},
      {.command = "report merge",
       .examples = {{"Merge the runs of a plan's shards",
                     "proctor report merge shard-1 shard-2 --out merged"}}},
      {.command = "report diff",
       .examples = {{"Show what changed between two runs", "proctor report diff before/ after/"},
                    {"Exit with 1 if a test fails that passed before",
                     "proctor report diff before/ after/ --fail-on regression"}},
       .exits = {{"0", "No case is in a class of --fail-on"},
                 {"1", "A case is in a class of --fail-on"},
                 {"2", "A run or an option cannot be read, B is incomplete, or no case can be compared"}}},
      {.command = "history",
       .examples = {{"Record each run", "proctor run --history runs.db"},
                    {"Show the flaky cases of three months",
                     "proctor history show runs.db --flaky --since 90d"}},
       .exits = {{"0", "Done"}, {"2", "The file or a report is not valid; nothing was changed"}}},
      {.command = "history add",
       .examples = {{"Add the newest run", "proctor history add runs.db proctor-out/latest"}}},
      {.command = "history show",
       .examples = {{"Show the failing cases, and since when", "proctor history show runs.db"},
                    {"Show the last outcomes of some cases",
                     "proctor history show runs.db --case '*Copy*'"}}},
      {.command = "history devices",
       .examples = {{"Show the devices of three months", "proctor history devices runs.db --since 90d"}}},
      {.command = "gate",
       .examples = {{"Decide whether two runs allow a release",
                     "proctor gate --policy release.toml cuda/ xpu/"},
                    {"Check a policy without reports", "proctor gate --check release.toml"}},
       .exits = {{"0", "Passed: every rule holds"},
                 {"1", "Failed: the output names the rule, the cell and the case"},
                 {"2", "The policy or a report cannot be read"}}},
      {.command = "log",
       .examples = {{"Print the output of a case of the newest run", "proctor log 'gpu_tests/Copy.Small'"},
                    {"Follow the output of a running case, with times",
                     "proctor log --follow --timestamps 'gpu_tests/Copy.Small'"}}},
      {.command = "explain",
       .examples = {{"Explain a cause that a report names", "proctor explain xid:79"},
                    {"Show what a built-in case checks", "proctor explain Copy.UnalignedCopyIsByteExact"}}},
      {.command = "explain mask",
       .examples = {{"Explain which devices a mask shows", "proctor explain mask cuda 1,0 --topology 4"},
                    {"Check a mask before a driver reads it", "proctor explain mask xpu 0.1,1"}},
       .exits = {{"0", "The drivers accept the mask"},
                 {"2", "A driver would crash on the mask or misread it, or the options are wrong"}}},
      {.command = "gate known-failures",
       .examples = {{"Check a list", "proctor gate known-failures check known_failures.toml"},
                    {"Print entries for the failures of a run",
                     "proctor gate known-failures suggest proctor-out/latest --owner NAME --issue URL"}}},
      {.command = "devices",
       .examples = {{"List the devices of this machine", "proctor devices"},
                    {"List simulated devices as JSON", "proctor devices --sim xpu:2x2 --json"}},
       .exits = {{"0", "At least one device was found"}, {"3", "No device was found"}}},
      {.command = "devices drain",
       .examples = {{"Take a device out of service",
                     "proctor devices drain DEVICE --reason 'memory errors since Monday'"}}},
      {.command = "devices undrain",
       .examples = {{"Return a device to service if its health probe passes",
                     "proctor devices undrain DEVICE --probe"}},
       .exits =
           {{"0", "Cases can use the device again"},
            {"2", "The device is not drained, or the options are wrong"},
            {"75",
             "The device stays drained: the probe failed or could not run, or a process holds the device"}}},
      {.command = "healthcheck",
       .examples = {{"Show the command that drains this node of Slurm", "proctor healthcheck --slurm"},
                    {"In the HealthCheckProgram of Slurm", "proctor healthcheck --slurm --drain"}},
       .exits = {{"0", "No device is drained"},
                 {"2", "The options are wrong, or the name of the node is not known"},
                 {"75", "A device is drained, or the check took 2 s"}}},
      {.command = "doctor",
       .examples = {{"Check this machine and suggest fixes", "proctor doctor"},
                    {"Check the driver stack of an unpacked image", "proctor doctor --root /mnt/image"}},
       .exits = {{"0", "The driver stack works"}, {"1", "The driver stack is broken"}}},
      {.command = "stack",
       .examples = {{"Show the driver stack of this machine", "proctor stack capture"},
                    {"Compare this machine with its lock", "proctor stack verify"}}},
      {.command = "dump",
       .examples = {{"Show what the running cases are doing", "proctor dump"},
                    {"Show those of another run", "proctor dump proctor-out/RUN"}}},
      {.command = "finish",
       .examples = {{"In CI, after every run", "proctor finish proctor-out/latest"},
                    {"Stop a runner that is still alive", "proctor finish proctor-out/latest --stop"},
                    {"In the epilog of Slurm", "proctor finish --slurm-job $SLURM_JOB_ID"}},
       .exits = {{"0", "Done, whatever the verdict of the run"},
                 {"2", "There is no run, it is still alive, or its record cannot be trusted"},
                 {"75", "A process or device memory is left, or the devices could not be checked"}}},
      {.command = "slurm",
       .examples = {{"Run a plan as four tasks of one device each",
                     "proctor slurm run --plan plan.json --shards 4 --gres=gpu:1"}}},
      {.command = "slurm run",
       .examples = {{"Run a plan as four tasks of one device each",
                     "proctor slurm run --plan plan.json --shards 4 --gres=gpu:1"},
                    {"Submit it to a partition, and return",
                     "proctor slurm run --plan plan.json --shards 8 -p gpu --no-wait"}},
       .exits = {{"0", "The merged run passed; with --no-wait, the job is submitted"},
                 {"1", "A test failed, crashed, hung or timed out"},
                 {"2", "Usage error, or sbatch refused the job; nothing was started"},
                 {"3", "Something planned was not run, or nothing was executed"},
                 {"75", "The machine is at fault: no answer of Slurm, a node failed, a task has no journal"},
                 {"128+n",
                  "Stopped by signal n: the job is cancelled, and the results of its tasks are merged"}},
       .takes_command = true},
      {.command = "ctest cases", .common = short_help(kForRun)},
      {.command = "selftest",
       .examples = {{"Run every check under its cheapest fault", "proctor selftest"},
                    {"Run one suite under all faults", "proctor selftest --suite memory --full"}}},
  };
  return kCommands;
}

}  // namespace

const CommandHelp& help_of(std::string_view command) {
  static const CommandHelp kNone;
  const auto found = std::ranges::find(commands(), command, &CommandHelp::command);
  return found == commands().end() ? kNone : *found;
}

}  // namespace proctor::cli
