#include "harness/cli/steps/run_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "harness/core/text.h"
#include "harness/core/words.h"
#include "harness/machine/suite_arguments.h"
#include "harness/plan/flaky_policy.h"
#include "reports/accept/accept_steps.h"

namespace proctor::cli {
namespace {

constexpr int kMostNumber = std::numeric_limits<int>::max();

// A value that cannot be read is refused later, with every other mistake and in the same words.
template <typename Value>
void read_into(Result<Value> value, const char* name, Value& place, RunOptions& options) {
  if (value) {
    place = *value;
  } else if (!options.mistake) {
    options.mistake = Error::refused(std::string(name) + ": " + value.error().what, value.error().hint);
  }
}

void add_duration(CLI::App& command, RunOptions& options, const char* name, Milliseconds& duration,
                  const char* help) {
  command
      .add_option_function<std::string>(
          name,
          [name, &duration, &options](const std::string& text) {
            if (!text.empty()) read_into(parse_duration(text), name, duration, options);
          },
          help)
      ->type_name("DURATION");
}

void add_duration(CLI::App& command, RunOptions& options, const char* name,
                  std::optional<Milliseconds>& duration, const char* help) {
  command
      .add_option_function<std::string>(
          name,
          [name, &duration, &options](const std::string& text) {
            if (!text.empty()) read_into(parse_duration(text), name, duration.emplace(), options);
          },
          help)
      ->type_name("DURATION");
}

void add_lease_wait_option(CLI::App& command, RunOptions& options) {
  add_duration(command, options, "--lease-wait", options.setup.lease_wait,
               "Longest wait for devices that other runs hold (default: 10m)");
}

void add_report_options(CLI::App& command, RunOptions& options) {
  auto* out = command
                  .add_option("--out", options.out,
                              "Run directory, new or empty (default: a new one in proctor-out/)")
                  ->type_name("DIR");
  if (command.get_name() == "run") {
    command
        .add_option("--join", options.join,
                    "Join the run that `proctor ctest open` opened in this directory; if none is open, start "
                    "a run there")
        ->type_name("DIR")
        ->excludes(out);
  }
  command.add_option("--junit", options.junit, "Also write the JUnit report to this file")->type_name("FILE");
  command
      .add_option("--history", options.history,
                  "Mark the failures that are new compared with this history, then record the run in it "
                  "(proctor history); create the file if it does not exist")
      ->type_name("FILE");
  command
      .add_option("--subject", options.subject,
                  "What is tested: commit, dirty, branch, repository or build (default: from the CI "
                  "variables, else the checkout); repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void add_console_options(CLI::App& command, ConsoleOptions& options) {
  const std::map<std::string, ShowOutput> choices = {{"failed", ShowOutput::kFailed},
                                                     {"all", ShowOutput::kAll},
                                                     {"live", ShowOutput::kLive},
                                                     {"none", ShowOutput::kNone}};
  command
      .add_option_function<std::string>(
          "--show-output",
          [&options, choices](const std::string& text) { options.output = choices.at(text); },
          "Output to show: failed (default, last 40 lines), all, live or none")
      ->type_name("WHICH")
      ->check(one_of({"failed", "all", "live", "none"}));
  auto* verbose = command.add_flag("--verbose,-v", options.verbose,
                                   "Show all limits of the containment, and every failure in full");
  command.add_flag("--quiet,-q", options.quiet, "Show only failures and the summary")->excludes(verbose);
  command.add_option("--durations", options.durations, "List the N slowest cases (default: 0)")
      ->type_name("N")
      ->check(from_to(0, kMostNumber));
  command.add_option("--color", options.colour, "Colors: auto (default), always or never")
      ->type_name("WHEN")
      ->check(one_of({"auto", "always", "never"}));
}

// A plan fixes what its cases are and how each is run.
void add_shard_options(CLI::App& command, RunOptions& options) {
  auto* plan =
      command.add_option("--plan", options.plan_file, "Run the plan in this file (see `proctor plan`)")
          ->type_name("FILE");
  for (const char* fixed :
       {"suites",      "--backend", "--gpus",    "--process",   "--env",       "--kind", "--name",
        "--label",     "--config",  "--profile", "--suite-arg", "--hierarchy", "--mask", "--mem-cap",
        "--host-pids", "--timeout", "--grace",   "--stall",     "--retries",   "--leaks"}) {
    plan->excludes(command.get_option(fixed));
  }
  command
      .add_option("--shard", options.shard,
                  "Run part K of N of the plan, or auto (from PROCTOR_SHARD, a Slurm job array or an indexed "
                  "Job of Kubernetes)")
      ->type_name("K/N");
  command
      .add_option("--resume", options.resume,
                  "Run what the run in this directory left, with the options of that run")
      ->type_name("RUN_DIR");
  command
      .add_option("--rest-of", options.rest_of,
                  "Leave out the cases of which this run of the same plan has an outcome; repeatable "
                  "(`--resume` adds it)")
      ->type_name("RUN_DIR")
      ->allow_extra_args(false);
}

void add_repeat_options(CLI::App& command, RunOptions& options) {
  RunSetup& setup = options.setup;
  command
      .add_option("--jobs,-j", options.jobs,
                  "Cases to run at once (default: one per device, and one per core for those without)")
      ->type_name("N")
      ->check(from_to(1, 10'000));
  command
      .add_option_function<std::string>(
          "--repeat",
          [&options](const std::string& text) {
            read_into(parse_repeats(text), "--repeat", options.repeats, options);
          },
          "How often each case runs: 25, 2h, 99%:1%, until-fail, new:50")
      ->type_name("HOW_OFTEN");
  command.add_flag("--fail-fast", setup.stop.fail_fast, "Start no more cases after the first failure");
  command
      .add_option_function<std::string>(
          "--flaky",
          [&options](const std::string& text) {
            if (auto read = read_flaky_policy(text, options.policy); !read && !options.mistake)
              options.mistake = Error::refused("--flaky: " + read.error().what, read.error().hint);
          },
          "Cases that failed and then passed: fail (default), or pass:2%, at most 2 % of the executed cases "
          "and at least one")
      ->type_name("VERDICT");
}

// Which devices the cases get, and what happens if there are none or too few.
void add_device_choices(CLI::App& command, RunOptions& options) {
  RunSetup& setup = options.setup;
  command.add_flag("--require-cards", options.require_cards,
                   "Refuse to run a case that has more ranks than there are cards, instead of skipping it");
  command.add_flag("--prove-devices", setup.care.prove,
                   "Run the health probe on every device before its first test");
  auto* each_device = command.add_flag("--each-device", setup.planned.each_device,
                                       "Run every case on every device, and compare them in a table");
  command.add_option("--pin", options.pins, "Run a case that uses one device on this one; repeatable")
      ->type_name("CASE=DEVICE")
      ->allow_extra_args(false)
      ->excludes(each_device);
  command.add_flag("--allow-no-device", setup.planned.allow_no_device,
                   "Skip tests that need a device if there is none, instead of exiting with 3 or 75");
}

void add_verdict_choices(CLI::App& command, RunOptions& options) {
  command.add_option("--known-failures", options.known_failures, "List of known failures")->type_name("FILE");
  command.add_flag("--strict", options.setup.planned.strict, "Fail a case that reports a warning");
  command.add_flag("--fail-on-skip{*}", options.setup.planned.fail_on_skip,
                   "Exit with 3 if a case is skipped; with =REASON, only if its reason matches this pattern");
  command
      .add_option("--min-executed", options.setup.planned.min_executed,
                  "Exit with 3 if fewer than N cases were executed (default: 1)")
      ->type_name("N")
      ->check(from_to(0, kMostNumber));
}

void add_terminal_options(CLI::App& command, RunOptions& options) {
  command.add_flag("--no-capture", options.setup.attempts.inherit_stdio,
                   "Give this terminal to the only case; its output is not in the log");
  command
      .add_option_function<std::string>(
          "--debugger",
          [&options](const std::string& text) {
            auto words = shell_words(text);
            if (words) {
              options.setup.attempts.debugger = *std::move(words);
              if (!options.setup.attempts.debugger.empty()) options.setup.attempts.inherit_stdio = true;
            } else if (!options.mistake) {
              options.mistake = words.error();
            }
          },
          "Run the only case under this debugger, for example 'gdb --args', without time limits")
      ->type_name("COMMAND");
}

// An option under its heading of the help (help_text.cc orders the headings), and what it does to a verdict.
struct RunOption {
  const char* name;
  Effect effect;
  const char* harmless = nullptr;  // a value with which it does nothing
};
struct Heading {
  const char* text;  // nullptr: it stands below the first one, or where its command puts it
  std::vector<RunOption> options;
};

const std::vector<Heading>& headings() {
  using enum Effect;
  static const std::vector<Heading> kHeadings = {
      {nullptr, {{"suites", kHarmless}, {"--help", kHarmless}, {"-h", kHarmless}, {"--json", kHarmless}}},
      {"Case selection",
       {{"--backend", kHarmless},
        {"--filter", kPlanTells},
        {"--case", kPlanTells},
        {"--exclude", kPlanTells},
        {"--label", kPlanTells},
        {"--tag", kPlanTells},
        {"--suite-arg", kPlanTells},
        {"--plan", kPlanTells},
        {"--shard", kRuleTells},
        {"--resume", kHarmless},
        {"--dry-run", kHarmless}}},
      {"Command after --",
       {{"--kind", kPlanTells}, {"--name", kHarmless}, {"--process", kHarmless}, {"--env", kHarmless}}},
      {"Devices",
       {{"--gpus", kHarmless},
        {"--devices", kHarmless},
        {"--hierarchy", kHarmless},
        {"--mask", kHarmless},
        {"--mem-cap", kPlanTells},
        {"--sim", kRuleTells},
        {"--lease-wait", kHarmless},
        {"--require-cards", kHarmless},
        {"--prove-devices", kHarmless},
        {"--each-device", kHarmless},
        {"--allow-no-device", kHarmless}}},
      {"Limits and containment",
       {{"--timeout", kHarmless},
        {"--grace", kHarmless},
        {"--stall", kHarmless},
        {"--deadline", kHarmless},
        {"--jobs", kHarmless},
        {"--containment", kHarmless},
        {"--host-pids", kHarmless}}},
      {"Retries and repeats",
       {{"--retries", kHarmless},
        {"--repeat", kHarmless},
        {"--flaky", kRuleTells},
        {"--fail-fast", kHarmless}}},
      {"Verdicts",
       {{"--leaks", kPlanTells, "fail"},
        {"--known-failures", kRuleTells},
        {"--strict", kHarmless},
        {"--fail-on-skip", kHarmless},
        {"--min-executed", kHarmless}}},
      {"Reports",
       {{"--out", kHarmless}, {"--junit", kHarmless}, {"--history", kHarmless}, {"--subject", kHarmless}}},
      {"Acceptance",
       {{"--level", kHarmless},
        {"--hours", kHarmless},
        {"--budget", kHarmless},
        {"--expect", kHarmless},
        {"--drain", kHarmless}}},
      {"Console",
       {{"--show-output", kHarmless},
        {"--verbose", kHarmless},
        {"--quiet", kHarmless},
        {"--durations", kHarmless},
        {"--color", kHarmless},
        {"--no-capture", kNarrows},
        {"--debugger", kNarrows},
        {"--workflow-commands", kHarmless}}},
      {"Readiness",
       {{"--ready-regex", kNarrows}, {"--ready-timeout", kHarmless}, {"--ready-file", kHarmless}}},
      {"Configuration", {{"--config", kHarmless}, {"--profile", kHarmless}}},
      // Proctor writes these: for --resume, CTest and `rerun`.
      {kHiddenGroup, {{"--rest-of", kNarrows}, {"--join", kRuleTells}, {"--pin", kHarmless}}},
  };
  return kHeadings;
}

const RunOption* row_of(const std::string& option) {
  for (const Heading& heading : headings()) {
    const auto found = std::ranges::find(heading.options, option, &RunOption::name);
    if (found != heading.options.end()) return &*found;
  }
  return nullptr;
}

// Of an argument of the built-in suites. The gate has a rule about size and seed.
Effect effect_of_argument(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return name == "size" || name == "seed" ? Effect::kRuleTells : Effect::kPlanTells;
}

std::string told_by(Effect effect) {
  if (effect == Effect::kPlanTells) return std::string(kToldByPlan);
  return effect == Effect::kRuleTells ? std::string(kToldByRule) : "";
}

}  // namespace

void group_options(CLI::App& command) {
  for (const Heading& heading : headings()) {
    for (const RunOption& row : heading.options) {
      CLI::Option* option = command.get_option_no_throw(row.name);
      if (heading.text != nullptr && option != nullptr) option->group(heading.text);
    }
  }
}

std::optional<Effect> effect_of(const std::string& option) {
  const RunOption* row = row_of(option);
  return row != nullptr ? std::optional(row->effect) : std::nullopt;
}

std::vector<NarrowingOption> narrowing_options(const CLI::App& command) {
  std::vector<NarrowingOption> narrowing;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    if (option->get_name() == kSuiteArgument) {
      for (const std::string& word : option->results())
        narrowing.push_back({kSuiteArgument, word, told_by(effect_of_argument(word))});
      continue;
    }
    const RunOption* row = row_of(option->get_name());
    const Effect effect = row != nullptr ? row->effect : Effect::kNarrows;
    const std::string value = option->get_expected_max() == 0 ? "" : joined(option->results(), " ");
    const bool does_nothing = row != nullptr && row->harmless != nullptr && value == row->harmless;
    if (effect == Effect::kHarmless || does_nothing) continue;
    narrowing.push_back({option->get_name(), value, told_by(effect)});
  }
  return narrowing;
}

void add_run_options(CLI::App& command, RunOptions& options) {
  add_plan_options(command, options.plan);
  add_machine_options(command, options.machine);
  add_devices_option(command, options.machine);
  add_limit_options(command, options.plan.limits);
  add_verdict_options(command, options.plan.limits);
  add_shard_options(command, options);
  add_duration(command, options, "--deadline", options.setup.stop.deadline,
               "Time limit for the whole run; cases left then are notrun(budget)");
  add_lease_wait_option(command, options);
  add_repeat_options(command, options);
  add_device_choices(command, options);
  add_verdict_choices(command, options);
  add_report_options(command, options);
  add_console_options(command, options.console);
  command.add_flag("--dry-run", options.dry_run, "Print the plan and start nothing")
      ->excludes(command.get_option("--require-cards"));
  add_terminal_options(command, options);
  group_options(command);
}

void add_exec_options(CLI::App& command, RunOptions& options) {
  SelectionOptions& selection = options.plan.selection;
  command
      .add_option(
          "--gpus", selection.gpus,
          "Number of devices for the command, which sees no others (default: 1, if the machine has some)")
      ->type_name("N");
  command
      .add_option(
          "--backend", selection.backend,
          "Backend of the devices: cuda, xpu or none (default: what --sim or the machine has, xpu first)")
      ->type_name("BACKEND");
  add_hierarchy_option(command, selection);
  add_mask_option(command, selection);
  add_mem_cap_option(command, selection);
  add_host_pids_option(command, selection);
  add_machine_options(command, options.machine);
  add_devices_option(command, options.machine);
  add_limit_options(command, options.plan.limits);
  add_duration(command, options, "--deadline", options.setup.stop.deadline,
               "Time limit for the whole run, waits included");
  add_lease_wait_option(command, options);
  add_report_options(command, options);
  command
      .add_option(
          "--ready-regex", options.ready_regex,
          "Treat the command as a server, ready when an output line matches this POSIX extended regex; "
          "--timeout counts from then")
      ->type_name("REGEX");
  command
      .add_option("--ready-timeout", options.ready_timeout,
                  "Time limit until the server is ready (default: --timeout)")
      ->type_name("DURATION");
  command
      .add_option("--ready-file", options.ready_file,
                  "File to create while the server is ready, with its process id")
      ->type_name("FILE");
  command.add_flag("--no-capture", options.setup.attempts.inherit_stdio,
                   "Give the command this terminal; its output is not in the log");
  command.add_flag("--workflow-commands", options.workflow_commands,
                   "Let GitHub Actions obey workflow commands (::error::, ##[group]) in the output");
  group_options(command);
}

void add_accept_options(CLI::App& command, RunOptions& options) {
  AcceptOptions& accept = options.accept;
  command
      .add_option("--level", accept.level,
                  "How much is tried: 1 (a minute), 2 (default, 5 minutes), 3 (30 minutes) or 4 (--hours)")
      ->type_name("N")
      ->check(from_to(kLowestAcceptLevel, kHighestAcceptLevel));
  command.add_option("--hours", accept.hours, "Time under load at level 4")
      ->type_name("N")
      ->check(from_to(1, 1000));
  add_duration(command, options, "--budget", accept.budget,
               "Most time for the steps of the level; of those that are not required, some are left out");
  command
      .add_option("--expect", accept.expect,
                  "What the machine should have, as `proctor devices --expect-file` writes it")
      ->type_name("FILE");
  command.add_flag("--drain", accept.drain, "Drain the devices that are rejected");
  command.add_option("--json", accept.json, "Also write the verdicts as JSON to this file")
      ->type_name("FILE")
      ->group("Acceptance");
  command
      .add_option("--backend", options.plan.selection.backend,
                  "Judge only devices of this backend: cuda, xpu or all (default)")
      ->type_name("BACKEND")
      ->check(one_of({"cuda", "xpu", "all"}));
  add_machine_options(command, options.machine);
  add_devices_option(command, options.machine);
  add_lease_wait_option(command, options);
  add_report_options(command, options);
  add_console_options(command, options.console);
  command.add_flag("--dry-run", options.dry_run, "Print the plan and start nothing");
  group_options(command);
}

}  // namespace proctor::cli
