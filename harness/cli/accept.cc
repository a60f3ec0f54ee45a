// `proctor accept`: whether each device of the machine is good. It is a run of the built-in suites on every device, whose
// cases follow from the level (reports/accept/accept_steps.h); its verdict is on the devices, and not on the cases.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "harness/cli/accept_display.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/run_command.h"
#include "harness/core/duration.h"
#include "harness/core/exit_code.h"
#include "harness/core/named_file.h"
#include "harness/core/slurm_job.h"
#include "harness/core/toml_reader.h"
#include "harness/machine/suite_arguments.h"
#include "harness/plan/load_config.h"
#include "harness/run/record/run_directory.h"
#include "reports/accept/accept_steps.h"

namespace proctor::cli {
namespace {

const std::vector<std::string> kSuites = {"memory", "kernels", "management", "visibility"};

void add_word(std::vector<std::string>& words, const char* option, const std::string& value) {
  if (value.empty()) return;
  words.emplace_back(option);
  words.push_back(value);
}

void add_machine_words(std::vector<std::string>& words, const RunOptions& typed) {
  add_word(words, "--backend", typed.plan.selection.backend);
  add_word(words, "--sim", typed.machine.sim);
}

// Returns the command that repeats the acceptance; `--devices` may follow.
std::vector<std::string> words_of_acceptance(const RunOptions& typed) {
  std::vector<std::string> words = {"proctor", "accept", "--level", std::to_string(typed.accept.level)};
  add_machine_words(words, typed);
  add_word(words, "--expect", typed.accept.expect);
  return words;
}

// The run that this is, for those who run one of its cases again.
std::vector<std::string> words_of_run(const RunOptions& typed) {
  std::vector<std::string> words = {"proctor", "run"};
  words.insert(words.end(), kSuites.begin(), kSuites.end());
  add_word(words, kSuiteArgument, "size=" + typed.plan.extent.size);
  add_word(words, "--process", typed.plan.selection.process);
  add_machine_words(words, typed);
  add_word(words, "--devices", typed.machine.devices);
  for (const char* flag : {"--each-device", "--prove-devices"}) words.emplace_back(flag);
  return words;
}

// Each node of an allocation writes to a place of its own.
void name_the_node(std::string& path) {
  constexpr std::string_view kNode = "%N";
  const std::string node = own_slurm_node();
  for (auto at = path.find(kNode); at != path.npos && !node.empty(); at = path.find(kNode, at + node.size()))
    path.replace(at, kNode.size(), node);
}

// What the level says, as the options of `run` that it stands for.
void settle_level(RunOptions& typed) {
  name_the_node(typed.out);
  name_the_node(typed.accept.json);
  typed.plan.selection.suites = kSuites;
  // Few cases need no shared process, whose failures would run a second time.
  typed.plan.selection.process = typed.accept.level == 1 ? "case" : "batch:auto";
  typed.plan.extent.size = size_of_level(typed.accept.level);
  typed.policy.breaker = 0;  // each device is judged, however many are broken
  typed.policy.foreign = ForeignPolicy::kFail;
  typed.setup.planned.each_device = true;
  typed.setup.care.prove = true;
  typed.setup.care.retest = true;
  if (typed.accept.budget) typed.setup.stop.deadline = typed.accept.budget;
  if (typed.accept.level == kHighestAcceptLevel)
    typed.repeats.turns = std::chrono::hours(std::max(typed.accept.hours, 1));
  typed.command_line = words_of_run(typed);
  typed.accept.again = words_of_acceptance(typed);
}

// The file of --expect; none was given: none.
Result<std::optional<ExpectedMachine>> read_expected(const std::string& file) {
  if (file.empty()) return std::optional<ExpectedMachine>();
  const auto text = read_typed_file(file);
  if (!text) return text.error();
  auto expected = parse_expected(*text, file);
  if (!expected) return expected.error();
  return std::optional(*std::move(expected));
}

Result<void> check_budget(const AcceptOptions& accept) {
  const Milliseconds least{std::int64_t{1000} * smallest_budget_s(accept.level)};
  if (!accept.budget || *accept.budget >= least) return {};
  return Error::refused(fmt::format("--budget {} is too small: the required steps of level {} take about {}",
                                    format_duration(*accept.budget), accept.level, format_duration(least)),
                        fmt::format("The smallest that fits is --budget {}.", format_duration(least)));
}

// Only the built-in suites judge a device. Suites of a proctor.toml have no effect.
Result<void> check_accept(RunOptions& typed, const AfterDashes& after_dashes) {
  const AcceptOptions& accept = typed.accept;
  if (after_dashes) return Error::refused("`proctor accept` takes no command after `--`");
  if (accept.hours > 0 && accept.level != kHighestAcceptLevel)
    return Error::refused("--hours requires --level 4", "For example: proctor accept --level 4 --hours 12");
  if (auto fits = check_budget(accept); !fits) return fits;
  auto expected = read_expected(accept.expect);
  if (!expected) return expected.error();
  typed.accept.expected = *std::move(expected);
  if (!accept.json.empty()) {
    if (auto usable = check_output_file("--json", accept.json); !usable) return usable;
  }
  auto config = load_run_config(typed.plan.config);
  if (!config) return config.error();
  config->keys.policy.flaky_passes.reset();  // no device is accepted by cases that failed first
  config->keys.policy.flaky_budget.reset();
  typed.accept.config = *std::move(config);
  typed.plan.config.text = "";
  typed.plan.config.user_file = "";
  return {};
}

int devices_of(const Checked& checked, Backend backend) {
  const auto devices = checked.machine->devices({backend});
  return devices ? static_cast<int>(devices->pool.size()) : 0;
}

// The cases of the steps that the level has, and that fit the budget.
Result<FoundPlan> find_accept_plan(const Checked& checked) {
  const RunConfig& config = checked.typed.accept.config;
  checked.machine->lease_in(config.keys.local.state_dir);
  auto found = find_plan(checked);
  if (!found) return found;
  found->outcome.run = config.keys;
  found->outcome.files = config.files;
  found->outcome.warnings.insert(found->outcome.warnings.begin(), config.warnings.begin(),
                                 config.warnings.end());
  const auto steps = checked.typed.accept.steps();
  Plan& plan = found->outcome.plan;
  std::erase_if(plan.cases, [&](const Case& test) {
    return std::ranges::find(steps.taken, step_of(test.id)) == steps.taken.end();
  });
  for (Case& test : plan.cases) {
    if (step_of(test.id)->all_devices && test.devices > 1)
      test.devices = std::max(test.devices, devices_of(checked, plan.suites[test.suite].backend));
  }
  return found;
}

void adapt_nothing(RunSetup& /*setup*/, const RunOptions& /*typed*/) {}

std::unique_ptr<RunDisplay> make_display(const Checked& checked, const Prepared& prepared,
                                         ConsoleOutput& output) {
  return std::make_unique<AcceptDisplay>(checked, prepared, output);
}

constexpr Manner kAccept{.refuse = fail,
                         .check = check_accept,
                         .find_plan = find_accept_plan,
                         .adapt = adapt_nothing,
                         .make_display = make_display};

}  // namespace

void add_accept_command(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                        const AfterDashes& after_dashes) {
  auto* command = app.add_subcommand("accept", "Accept or reject each device of this machine");
  auto options = std::make_shared<RunOptions>();
  add_accept_options(*command, *options);
  command->callback([options, command, &action, &command_line, &after_dashes] {
    options->accept.command_line = command_line;
    options->narrowing = narrowing_options(*command);
    settle_level(*options);
    action = [options, &after_dashes] { return execute_run(*options, after_dashes, kAccept); };
  });
}

}  // namespace proctor::cli
