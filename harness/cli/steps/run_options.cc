#include "harness/cli/steps/run_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "harness/core/text.h"
#include "harness/core/words.h"

namespace proctor::cli {
namespace {

// A value that cannot be read is refused later, with every other mistake and in the same words.
void read_into(Result<Milliseconds> value, const char* name, Milliseconds& duration, RunOptions& options) {
  if (value) {
    duration = *value;
  } else if (!options.mistake) {
    options.mistake =
        Error::usage(std::string("read ") + name + ": " + value.error().what, value.error().hint);
  }
}

void add_duration(CLI::App& command, RunOptions& options, const char* name, Milliseconds& duration,
                  const char* help) {
  command.add_option_function<std::string>(
      name,
      [name, &duration, &options](const std::string& text) {
        if (!text.empty()) read_into(parse_duration(text), name, duration, options);
      },
      help);
}

void add_deadline(CLI::App& command, RunOptions& options, const char* help) {
  command.add_option_function<std::string>(
      "--deadline",
      [&options](const std::string& text) {
        if (!text.empty())
          read_into(parse_duration(text), "--deadline", options.setup.stop.deadline.emplace(), options);
      },
      help);
}

void add_device_options(CLI::App& command, RunOptions& options) {
  command.add_option("--state-dir", options.machine.state_dir,
                     "Where devices are leased from other runs (default: /run/lock)");
  add_duration(command, options, "--lease-wait", options.setup.lease_wait,
               "Longest wait for devices that other runs hold (default: 10m)");
  add_duration(command, options, "--settle", options.setup.care.settle,
               "Longest wait for the memory of a case to come back to its device (default: 60s)");
  RunPolicy& policy = options.policy;
  command
      .add_option_function<std::string>(
          "--foreign", [&policy](const std::string& text) { policy.foreign = parse_foreign_policy(text); },
          "When others have memory on a case's device: wait (the default; for --settle), fail, or "
          "other, which takes another device")
      ->check(CLI::IsMember({"wait", "fail", "other"}));
  command
      .add_option_function<std::string>(
          "--reset", [&policy](const std::string& text) { policy.reset_sick = text == "sick"; },
          "A device that fails its health probe: never (the default: it is drained), or sick, which resets "
          "its card first")
      ->check(CLI::IsMember({"never", "sick"}));
}

void add_report_options(CLI::App& command, RunOptions& options) {
  command
      .add_option("--telemetry", options.policy.telemetry,
                  "Samples a second of the devices of running cases (default: 10); 0: none")
      ->check(CLI::Range(0, kMostTelemetry));
  auto* out = command.add_option("--out", options.out, "Run directory; must be new or empty");
  if (command.get_name() == "run") {
    command
        .add_option(
            "--join", options.join,
            "Be a part of the run that `proctor ctest open` opened below this directory; where none is open, "
            "a run of its own there")
        ->excludes(out);
  }
  command
      .add_option(
          "--keep", options.keep,
          "Without --out: how many runs stay in proctor-out/ (default: 50; 0: all); none that is in use goes")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--stack-root", options.stack_root, "The driver stack's files are below this directory");
  command.add_option("--junit", options.junit, "Also write junit.xml to this file");
  command
      .add_option("--subject", options.subject,
                  "What is tested, NAME=VALUE: commit, dirty, branch, repository or build (default: what the "
                  "CI's variables say, else the checkout)")
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
          "What cases print: failed (the default: the last 40 lines of what is bad), all of each as it ends, "
          "live "
          "as it comes, or none")
      ->check(CLI::IsMember({"failed", "all", "live", "none"}));
  auto* verbose = command.add_flag("--verbose,-v", options.verbose,
                                   "Every caveat of the containment, and every red case in full");
  command.add_flag("--quiet,-q", options.quiet, "Only what is bad, and the end")->excludes(verbose);
  command.add_option("--durations", options.durations, "List so many of the slowest cases")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--color", options.colour, "auto (the default), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

// A plan fixes what its cases are and how each is run.
void add_shard_options(CLI::App& command, RunOptions& options) {
  auto* plan =
      command.add_option("--plan", options.plan_file,
                         "Run the plan in this file (`proctor plan -o FILE`), the same on every machine");
  for (const char* fixed : {"suites",  "--backend",  "--gpus",      "--process", "--env",       "--kind",
                            "--name",  "--label",    "--config",    "--profile", "--size",      "--seed",
                            "--point", "--provider", "--hierarchy", "--mem-cap", "--host-pids", "--timeout",
                            "--grace", "--stall",    "--retries",   "--leaks"}) {
    plan->excludes(command.get_option(fixed));
  }
  command.add_option(
      "--shard", options.shard,
      "Run part K of N of the plan: K/N; or auto, which reads PROCTOR_SHARD (K/N), the variables "
      "of a Slurm job array (SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT), or those of an indexed Job of "
      "Kubernetes (JOB_COMPLETION_INDEX, with PROCTOR_SHARD_COUNT)");
}

// An option under its heading of the help, and what it does to a verdict. It is declared by both.
struct RunOption {
  const char* name;
  Effect effect;
  const char* harmless = nullptr;  // a value with which it does nothing
};
struct Heading {
  const char* text;  // nullptr: it stands below the first one
  std::vector<RunOption> options;
};

const std::vector<Heading>& headings() {
  using enum Effect;
  static const std::vector<Heading> kHeadings = {
      {nullptr, {{"suites", kHarmless}, {"--help", kHarmless}, {"--join", kRuleTells}}},
      {"Which cases",
       {{"--backend", kHarmless},
        {"--filter", kPlanTells},
        {"--case", kPlanTells},
        {"--exclude", kPlanTells},
        {"--label", kPlanTells},
        {"--tag", kPlanTells},
        {"--config", kHarmless},
        {"--profile", kHarmless},
        {"--size", kRuleTells},
        {"--seed", kRuleTells},
        {"--point", kPlanTells},
        {"--provider", kPlanTells},
        {"--plan", kPlanTells},
        {"--shard", kRuleTells},
        {"--dry-run", kHarmless}}},
      {"The program after --",
       {{"--kind", kPlanTells}, {"--name", kHarmless}, {"--process", kHarmless}, {"--env", kHarmless}}},
      {"Devices",
       {{"--gpus", kHarmless},
        {"--devices", kHarmless},
        {"--pin", kHarmless},
        {"--hierarchy", kHarmless},
        {"--mem-cap", kPlanTells},
        {"--sim", kRuleTells},
        {"--sim-driver", kRuleTells},
        {"--sim-state", kRuleTells},
        {"--state-dir", kHarmless},
        {"--lease-wait", kHarmless},
        {"--settle", kHarmless},
        {"--foreign", kHarmless},
        {"--reset", kHarmless},
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
        {"--require-containment", kHarmless},
        {"--host-pids", kHarmless}}},
      {"Again",
       {{"--retries", kHarmless},
        {"--repeat", kHarmless},
        {"--until-fail", kHarmless},
        {"--flaky", kRuleTells},
        {"--flaky-budget", kRuleTells},
        {"--fail-fast", kHarmless},
        {"--breaker", kHarmless}}},
      {"Verdicts",
       {{"--leaks", kPlanTells, "fail"},
        {"--known-failures", kRuleTells},
        {"--strict", kHarmless},
        {"--min-executed", kHarmless}}},
      {"Reports",
       {{"--out", kHarmless},
        {"--keep", kHarmless},
        {"--junit", kHarmless},
        {"--subject", kHarmless},
        {"--telemetry", kHarmless},
        {"--stack-root", kRuleTells}}},
      {"Console",
       {{"--show-output", kHarmless},
        {"--verbose", kHarmless},
        {"--quiet", kHarmless},
        {"--durations", kHarmless},
        {"--color", kHarmless},
        {"--no-capture", kNarrows},
        {"--debugger", kNarrows}}},
  };
  return kHeadings;
}

// Of `exec` alone, which has no headings.
constexpr RunOption kExecOptions[] = {{"--ready-regex", Effect::kNarrows},
                                      {"--ready-timeout", Effect::kHarmless},
                                      {"--ready-file", Effect::kHarmless},
                                      {"--workflow-commands", Effect::kHarmless}};

const RunOption* row_of(const std::string& option) {
  for (const Heading& heading : headings()) {
    const auto found = std::ranges::find(heading.options, option, &RunOption::name);
    if (found != heading.options.end()) return &*found;
  }
  const auto found = std::ranges::find(kExecOptions, option, &RunOption::name);
  return found != std::end(kExecOptions) ? &*found : nullptr;
}

std::string told_by(Effect effect) {
  if (effect == Effect::kPlanTells) return std::string(kToldByPlan);
  return effect == Effect::kRuleTells ? std::string(kToldByRule) : "";
}

void group_options(CLI::App& command) {
  for (const Heading& heading : headings()) {
    for (const RunOption& row : heading.options) {
      if (heading.text != nullptr) command.get_option(row.name)->group(heading.text);
    }
  }
  command.footer(
      "Examples:\n"
      "  proctor run                                      the suites of proctor.toml, else the built-in "
      "ones\n"
      "  proctor run --sim xpu:2x2,cuda:4 --backend all   the built-in ones on simulated cards\n"
      "  proctor run -- ./gpu_tests                       any program, on a device of the vendor that it "
      "needs\n"
      "  proctor run --gpus 2 --backend cuda -- pytest tests/gpu\n"
      "  proctor run --retries 2 --filter '*Copy*' -- ./gpu_tests");
}

}  // namespace

std::optional<Effect> effect_of(const std::string& option) {
  const RunOption* row = row_of(option);
  return row != nullptr ? std::optional(row->effect) : std::nullopt;
}

std::vector<NarrowingOption> narrowing_options(const CLI::App& command) {
  std::vector<NarrowingOption> narrowing;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
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
  RunSetup& setup = options.setup;
  setup.repeats.repeat = 0;  // not typed
  add_deadline(command, options, "Time for the whole run; what is left then is notrun(budget)");
  add_device_options(command, options);
  command.add_option("--jobs,-j", options.jobs, "Cases at once; never more than there are devices to give")
      ->check(CLI::Range(1, 10'000));
  command.add_option("--repeat", setup.repeats.repeat, "Run every case so many times")
      ->check(CLI::Range(1, 1'000'000));
  command.add_flag("--until-fail", setup.repeats.until_fail, "Stop repeating a case when it fails");
  auto* require_cards = command.add_flag(
      "--require-cards", options.require_cards,
      "Refuse to run when a case has more ranks than there are cards, instead of skipping it");
  command.add_flag("--prove-devices", setup.care.prove,
                   "Examine each device before its first case: the report then says that it computes");
  auto* each_device = command.add_flag("--each-device", setup.planned.each_device,
                                       "Every case on every device, and a table that tells code from card");
  command
      .add_option("--pin", options.pins,
                  "CASE=DEVICE: this case, which uses one device, runs on this one; repeatable")
      ->allow_extra_args(false)
      ->excludes(each_device);
  command
      .add_option_function<std::string>(
          "--flaky", [&options](const std::string& text) { options.policy.flaky_passes = text == "pass"; },
          "Cases that were bad and then good: fail (the default), or pass within --flaky-budget")
      ->check(CLI::IsMember({"fail", "pass"}));
  command
      .add_option("--flaky-budget", options.policy.flaky_budget,
                  "Percent of the executed cases; above 0, at least one case (default: 2)")
      ->check(CLI::Range(0, 100));
  command.add_flag("--fail-fast", setup.stop.fail_fast, "Start nothing more after the first bad case");
  command
      .add_option("--breaker", options.policy.breaker,
                  "End the run after so many machine outcomes in a row (default: 5; 0: never)")
      ->check(CLI::Range(0, 1'000'000));
  command.add_option("--known-failures", options.known_failures, "File of failures that are known");
  command.add_flag("--strict", setup.planned.strict, "A warning of a case makes it fail");
  add_report_options(command, options);
  add_console_options(command, options.console);
  command.add_option("--min-executed", setup.planned.min_executed, "Exit 3 if fewer cases were executed")
      ->check(CLI::NonNegativeNumber);
  command.add_flag(
      "--allow-no-device", setup.planned.allow_no_device,
      "Without a device: the cases that need one are skipped, and that is no reason for exit 3 or 75");
  command.add_flag("--dry-run", options.dry_run, "Print the plan, start nothing")->excludes(require_cards);
  command.add_flag("--no-capture", setup.attempts.inherit_stdio,
                   "One case on this terminal, nothing captured");
  command.add_option_function<std::string>(
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
      "One case under this command, e.g. 'gdb --args'; no limits");
  group_options(command);
}

void add_exec_options(CLI::App& command, RunOptions& options) {
  command.add_option("--gpus", options.plan.selection.gpus, "Devices that the command gets, and no others");
  command.add_option(
      "--backend", options.plan.selection.backend,
      "Their kind: cuda, xpu or none; default: what --sim or this machine has, xpu before cuda");
  add_hierarchy_option(command, options.plan.selection);
  add_mem_cap_option(command, options.plan.selection);
  add_host_pids_option(command, options.plan.selection);
  add_machine_options(command, options.machine);
  add_devices_option(command, options.machine);
  add_limit_options(command, options.plan.limits);
  add_deadline(command, options, "Time limit of the whole run");
  add_device_options(command, options);
  add_report_options(command, options);
  command.add_option("--ready-regex", options.ready_regex,
                     "A server: ready when a line of its output matches this (POSIX extended); --timeout "
                     "counts from then");
  command.add_option("--ready-timeout", options.ready_timeout, "Time until then (default: --timeout)");
  command.add_option("--ready-file", options.ready_file, "File that exists while it is ready, with the pid");
  command.add_flag("--no-capture", options.setup.attempts.inherit_stdio,
                   "Give the command this terminal; nothing is kept in the log");
  command.add_flag("--workflow-commands", options.workflow_commands,
                   "Let the step of GitHub Actions obey commands (::error::, ##[group]) in the output");
}

}  // namespace proctor::cli
