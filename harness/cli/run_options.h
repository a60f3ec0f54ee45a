// The options of `run`, and the part of them that `list` shares, as typed.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/core/duration.h"
#include "harness/core/result.h"
#include "harness/devices/environment.h"
#include "harness/devices/simulation.h"
#include "harness/plan/options.h"
#include "harness/process/containment.h"

namespace proctor::cli {

// What decides which cases there are.
struct PlanOptions {
  ConfigOptions config;
  SelectionOptions selection;
  LimitOptions limits;
  std::string sim;
  std::string sim_driver;
  std::string sim_state;  // "" = a simulated machine of this run alone
  std::string size = "ci";
  std::string provider;  // of collectives; "" = each check's own
  std::string containment = "auto";
  std::string require_containment;
};

struct RunOptions {
  PlanOptions plan;
  std::string plan_file;  // "" = the cases are discovered
  std::string shard;      // "" = all cases
  std::string known_failures;
  std::string deadline;
  std::string state_dir;  // "" = LeaseDirectory::kDefaultPath
  std::string lease_wait;
  std::string settle;
  std::string foreign;         // "" = as configured
  std::string reset;           // "" = as configured
  std::optional<int> breaker;  // none = as configured
  std::optional<int> telemetry;
  std::string flaky;  // "" = as configured
  std::optional<int> flaky_budget;
  bool each_device = false;
  bool require_cards = false;
  std::string out;
  std::string junit;
  std::string stack_root = "/";
  std::optional<std::string> ready_regex;
  std::string ready_timeout;
  std::string ready_file;
  std::string debugger;
  int jobs = 0;
  int repeat = 0;  // 0: not given
  int min_executed = 0;
  bool until_fail = false;
  bool fail_fast = false;
  bool strict = false;
  bool dry_run = false;
  bool no_capture = false;
  bool workflow_commands = false;  // in the output of exec's command: they are obeyed
};

void add_plan_options(CLI::App& command, PlanOptions& options);
// Limits of cases.
void add_limit_options(CLI::App& command, LimitOptions& limits);
void add_retries_option(CLI::App& command, LimitOptions& limits);
void add_run_options(CLI::App& command, RunOptions& options);
void add_exec_options(CLI::App& command, RunOptions& options);

// The repeats and the deadline together: --until-fail without --repeat runs until --deadline.
struct Budget {
  int repeat = 1;
  std::optional<Milliseconds> deadline;
  Milliseconds lease_wait{600'000};
  Milliseconds settle{60'000};
};
Result<Budget> parse_budget(const RunOptions& options);

// --containment and --require-containment; opens the layer.
Result<std::unique_ptr<Containment>> open_containment(const PlanOptions& options, const std::string& run_id);

Result<std::optional<Simulation>> parse_simulation_options(const PlanOptions& options);

// The caller's PROCTOR_SIM_FAULTS into the simulation; refused when they would not take effect.
Result<void> add_sim_faults(std::optional<Simulation>& simulation, const Environment& caller);

// Completes `options` with where proctor was started, and the command after `--`.
Result<void> complete(PlanOptions& options, const AfterDashes& after_dashes);

// Words of a command line as a POSIX shell splits them; quotes and backslashes only.
Result<std::vector<std::string>> split_words(const std::string& text);

// Prints an error the way every command does and gives the exit code: 2 for a user's mistake, else 75.
int fail(const Error& error);
// The same for `exec`, whose other exit codes are its command's: 125 for a user's mistake.
int fail_exec(const Error& error);

}  // namespace proctor::cli
