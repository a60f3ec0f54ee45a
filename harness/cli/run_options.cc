#include "harness/cli/run_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "harness/cli/ci_log.h"
#include "harness/core/child_protocol.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "harness/plan/load_config.h"
#include "harness/plan/sim_faults.h"

namespace proctor::cli {
namespace {

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const auto near = near_miss(word, candidates);
  return fmt::format("{}Known: {}.", near.empty() ? "" : "Did you mean `" + near + "`? ",
                     fmt::join(candidates, ", "));
}

Result<std::optional<Layer>> parse_layer_option(const char* option, const std::string& text) {
  if (text.empty() || text == "auto") return std::optional<Layer>();
  if (const auto layer = parse_layer(text)) return layer;
  return Error::usage(std::string("read ") + option + ": unknown containment layer `" + text + "`",
                      did_you_mean(text, {"auto", "cgroup", "pidns", "subreaper"}));
}

// What `run` and `exec` share: what stands around a case.
void add_isolation_options(CLI::App& command, PlanOptions& options) {
  command.add_option(
      "--sim", options.sim,
      "Simulated devices, e.g. xpu:2x2 (two Intel cards with two tiles each), cuda:4 (four NVIDIA cards), "
      "xpu:2x2,cuda:4, or FILE.toml, which describes each card");
  command.add_option("--sim-driver", options.sim_driver,
                     "What simulates them: simgpu (the default), or intel[@DIR], Intel's own driver in its "
                     "no-hardware mode, "
                     "which executes nothing; with DIR, the one that is unpacked below it");
  command.add_option(
      "--sim-state", options.sim_state,
      "Directory of a simulated machine that several runs share; they lease its cards from each other");
  command.add_option("--containment", options.containment,
                     "What holds each case: auto, cgroup, pidns or subreaper");
  command.add_option("--require-containment", options.require_containment,
                     "Refuse to run with anything weaker");
}

void add_lease_options(CLI::App& command, RunOptions& options) {
  command.add_option("--state-dir", options.state_dir,
                     "Where devices are leased from other runs (default: /dev/shm/proctor-leases)");
  command.add_option("--lease-wait", options.lease_wait,
                     "Longest wait for devices that other runs hold (default: 10m)");
  command.add_option("--settle", options.settle,
                     "Longest wait for the memory of a case to come back to its device (default: 60s)");
  command
      .add_option("--foreign", options.foreign,
                  "When others have memory on a case's device: wait (the default; for --settle), fail, or "
                  "other, which takes another device")
      ->check(CLI::IsMember({"wait", "fail", "other"}));
  command
      .add_option(
          "--reset", options.reset,
          "A device that fails its health probe: never (the default: it is drained), or sick, which resets "
          "its card first")
      ->check(CLI::IsMember({"never", "sick"}));
}

void add_report_options(CLI::App& command, RunOptions& options) {
  command
      .add_option("--telemetry", options.telemetry,
                  "Samples a second of the devices of running cases (default: 10); 0: none")
      ->check(CLI::Range(0, kMostTelemetry));
  command.add_option("--out", options.out, "Run directory; must be new or empty");
  command.add_option("--stack-root", options.stack_root, "The driver stack's files are below this directory");
  command.add_option("--junit", options.junit, "Also write junit.xml to this file");
}

// A plan fixes what its cases are and how each is run.
void add_shard_options(CLI::App& command, RunOptions& options) {
  auto* plan =
      command.add_option("--plan", options.plan_file,
                         "Run the plan in this file (`proctor plan -o FILE`), the same on every machine");
  for (const char* fixed : {"suites", "--backend", "--label", "--config", "--profile", "--size", "--provider",
                            "--timeout", "--grace", "--stall", "--retries"}) {
    plan->excludes(command.get_option(fixed));
  }
  command.add_option(
      "--shard", options.shard,
      "Run part K of N of the plan: K/N; or auto, which reads PROCTOR_SHARD (K/N), the variables "
      "of a Slurm job array (SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT), or those of an indexed Job of "
      "Kubernetes (JOB_COMPLETION_INDEX, with PROCTOR_SHARD_COUNT)");
}

}  // namespace

void add_limit_options(CLI::App& command, LimitOptions& limits) {
  command.add_option("--timeout", limits.timeout, "Time limit of a case, e.g. 90s");
  command.add_option("--grace", limits.grace, "From SIGTERM to SIGKILL after a limit");
  command.add_option("--stall", limits.stall, "Longest silence of a case, or off");
}

void add_retries_option(CLI::App& command, LimitOptions& limits) {
  command.add_option("--retries", limits.retries, "More attempts after a bad one");
}

void add_plan_options(CLI::App& command, PlanOptions& options) {
  auto& selection = options.selection;
  command.add_option("suites", selection.suites,
                     "Suites by name; without any: all of the config, else the built-in ones");
  command.add_option("--backend", selection.backend,
                     "Only suites of this backend: cuda, xpu, none or all; default: our own suites on what "
                     "the machine, or --sim, has");
  command.add_option("--filter", selection.filters, "Cases whose id matches this glob (* and ?); repeatable")
      ->allow_extra_args(false);
  command.add_option("--case", selection.cases, "The case with exactly this id; repeatable")
      ->allow_extra_args(false);
  command.add_option("--exclude", selection.excludes, "Not the cases whose id matches this glob; repeatable")
      ->allow_extra_args(false);
  command.add_option("--label", selection.labels, "Only suites with this label; repeatable")
      ->allow_extra_args(false);
  command.add_option("--config", options.config.config_file, "Read this file instead of ./proctor.toml");
  command.add_option("--profile", options.config.profile, "Apply [profile.NAME] of the config");
  command.add_option("--size", options.size,
                     "How much our checks do: smoke, ci (the default), full or stress");
  command.add_option("--provider", options.provider,
                     "The library that our checks of collectives work over: gloo, oneccl or nccl; default: "
                     "each over its own");
  add_isolation_options(command, options);
}

void add_run_options(CLI::App& command, RunOptions& options) {
  add_plan_options(command, options.plan);
  add_limit_options(command, options.plan.limits);
  add_retries_option(command, options.plan.limits);
  add_shard_options(command, options);
  command.add_option("--deadline", options.deadline,
                     "Time for the whole run; what is left then is notrun(budget)");
  add_lease_options(command, options);
  command.add_option("--jobs,-j", options.jobs, "Cases at once; never more than there are devices to give")
      ->check(CLI::Range(1, 10'000));
  command.add_option("--repeat", options.repeat, "Run every case so many times")
      ->check(CLI::Range(1, 1'000'000));
  command.add_flag("--until-fail", options.until_fail, "Stop repeating a case when it fails");
  auto* require_cards = command.add_flag(
      "--require-cards", options.require_cards,
      "Refuse to run when a case has more ranks than there are cards, instead of skipping it");
  command.add_flag("--each-device", options.each_device,
                   "Every case on every device, and a table that tells code from card");
  command
      .add_option("--flaky", options.flaky,
                  "Cases that were bad and then good: fail (the default), or pass within --flaky-budget")
      ->check(CLI::IsMember({"fail", "pass"}));
  command.add_option("--flaky-budget", options.flaky_budget, "Percent of the executed cases (default: 2)")
      ->check(CLI::Range(0, 100));
  command.add_flag("--fail-fast", options.fail_fast, "Start nothing more after the first bad case");
  command
      .add_option("--breaker", options.breaker,
                  "End the run after so many machine outcomes in a row (default: 5; 0: never)")
      ->check(CLI::Range(0, 1'000'000));
  command.add_option("--known-failures", options.known_failures, "File of failures that are known");
  command.add_flag("--strict", options.strict, "A warning of a case makes it fail");
  add_report_options(command, options);
  command.add_option("--min-executed", options.min_executed, "Exit 3 if fewer cases were executed")
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--dry-run", options.dry_run, "Print the plan, start nothing")->excludes(require_cards);
  command.add_flag("--no-capture", options.no_capture, "One case on this terminal, nothing captured");
  command.add_option("--debugger", options.debugger,
                     "One case under this command, e.g. 'gdb --args'; no limits");
}

void add_exec_options(CLI::App& command, RunOptions& options) {
  command.add_option("--gpus", options.plan.selection.gpus, "Devices that the command gets, and no others");
  command.add_option(
      "--backend", options.plan.selection.backend,
      "Their kind: cuda, xpu or none; default: what --sim or this machine has, xpu before cuda");
  add_isolation_options(command, options.plan);
  add_limit_options(command, options.plan.limits);
  command.add_option("--deadline", options.deadline, "Time limit of the whole run");
  add_lease_options(command, options);
  add_report_options(command, options);
  command.add_option("--ready-regex", options.ready_regex,
                     "A server: ready when a line of its output matches this (POSIX extended); --timeout "
                     "counts from then");
  command.add_option("--ready-timeout", options.ready_timeout, "Time until then (default: --timeout)");
  command.add_option("--ready-file", options.ready_file, "File that exists while it is ready, with the pid");
  command.add_flag("--no-capture", options.no_capture,
                   "Give the command this terminal; nothing is kept in the log");
  command.add_flag("--workflow-commands", options.workflow_commands,
                   "Let the step of GitHub Actions obey commands (::error::, ##[group]) in the output");
}

Result<Budget> parse_budget(const RunOptions& options) {
  Budget budget;
  if (!options.deadline.empty()) {
    const auto deadline = parse_duration(options.deadline);
    if (!deadline) return Error::usage("read --deadline: " + deadline.error().what, deadline.error().hint);
    budget.deadline = *deadline;
  }
  for (const auto& [name, text, value] : {std::tuple{"--lease-wait", &options.lease_wait, &budget.lease_wait},
                                          std::tuple{"--settle", &options.settle, &budget.settle}}) {
    if (text->empty()) continue;
    const auto wait = parse_duration(*text);
    if (!wait) return Error::usage(std::string("read ") + name + ": " + wait.error().what, wait.error().hint);
    *value = *wait;
  }
  if (options.repeat > 0) {
    budget.repeat = options.repeat;
  } else if (options.until_fail) {
    if (!budget.deadline) {
      return Error::usage("read --until-fail: nothing would end the run",
                          "Add --repeat N or --deadline DURATION.");
    }
    budget.repeat = std::numeric_limits<int>::max();
  }
  return budget;
}

Result<std::unique_ptr<Containment>> open_containment(const PlanOptions& options, const std::string& run_id) {
  const auto wanted = parse_layer_option("--containment", options.containment);
  if (!wanted) return wanted.error();
  const auto required = parse_layer_option("--require-containment", options.require_containment);
  if (!required) return required.error();
  if (*wanted && *required && **wanted > **required) {  // best first
    return Error::usage("read --containment: " + options.containment +
                        " is weaker than --require-containment " + options.require_containment);
  }
  auto containment = Containment::open(*wanted, run_id);
  if (!containment || !*required || (*containment)->layer() <= **required) return containment;
  for (const auto& probe : Containment::probe_all()) {
    if (probe.layer != **required) continue;
    return Error::usage("open containment " + options.require_containment + ": " + probe.why_not,
                        probe.how_to_improve.empty() ? "" : probe.how_to_improve.front());
  }
  return Error::usage("open containment " + options.require_containment);
}

Result<std::optional<Simulation>> parse_simulation_options(const PlanOptions& options) {
  if (options.sim.empty() && !options.sim_state.empty()) {
    return Error::usage("read --sim-state " + options.sim_state + ": there is no --sim",
                        "Add the devices to simulate, e.g. --sim xpu:2x2.");
  }
  if (options.sim.empty()) {
    if (options.sim_driver.empty()) return std::optional<Simulation>();
    return Error::usage("read --sim-driver " + options.sim_driver + ": there is no --sim",
                        "Add the devices to simulate, e.g. --sim xpu:2x2.");
  }
  auto simulation = parse_simulation(options.sim, options.sim_driver);
  if (!simulation) return simulation.error();
  return std::optional<Simulation>(std::move(*simulation));
}

Result<void> add_sim_faults(std::optional<Simulation>& simulation, const Environment& caller) {
  const auto found = caller.find(kSimFaultsVariable);
  if (found == caller.end() || found->second.empty()) return {};
  const bool simgpu = simulation && simulation->driver.kind == SimDriverKind::kSimgpu;
  if (auto checked = check_sim_faults(found->second, simgpu ? &simulation->topology : nullptr); !checked) {
    return checked;
  }
  simulation->faults = found->second;
  return {};
}

Result<void> complete(PlanOptions& options, const AfterDashes& after_dashes) {
  const std::vector<std::string> sizes = {"smoke", "ci", "full", "stress"};
  if (std::find(sizes.begin(), sizes.end(), options.size) == sizes.end()) {
    return Error::usage("read --size: unknown size `" + options.size + "`",
                        did_you_mean(options.size, sizes));
  }
  const std::vector<std::string> providers(child::kProviders.begin(), child::kProviders.end());
  if (!options.provider.empty() && std::ranges::find(providers, options.provider) == providers.end()) {
    return Error::usage("read --provider: unknown provider `" + options.provider + "`",
                        did_you_mean(options.provider, providers));
  }
  std::error_code error;
  options.config.directory = std::filesystem::current_path(error).string();
  if (error) return Error::system("find the current directory", error.value());
  options.config.user_file = user_config_file(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
  if (after_dashes) {
    if (after_dashes->empty()) return Error::usage("read the command line: no command after `--`");
    options.selection.command = *after_dashes;
  }
  return {};
}

Result<std::vector<std::string>> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return Error::usage("read `" + text + "`: a quote is not closed");
  if (in_word) words.push_back(word);
  return words;
}

int fail(const Error& error) {
  std::fprintf(stderr, "proctor: failed to %s\n", shown(error.what).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  %s\n", shown(error.hint).c_str());
  return error.kind == ErrorKind::kUsage ? kExitUsage : kExitMachine;
}

}  // namespace proctor::cli
