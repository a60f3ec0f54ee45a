// What `proctor run` and `proctor exec` can be told, and where it is kept: parsed here, used in run.cc and exec.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cli/console/console.h"
#include "harness/cli/steps/repeats.h"
#include "harness/machine/options.h"
#include "harness/plan/load_config.h"
#include "harness/plan/planner.h"
#include "harness/run/record/run_directory.h"
#include "harness/run/schedule/run_setup.h"
#include "reports/accept/accept_steps.h"
#include "reports/accept/expected_machine.h"

namespace CLI {
class App;
}

namespace proctor::cli {

// The group of the options that help, manual and completion leave out. In CLI11, an option without a group has no name.
inline constexpr const char* kHiddenGroup = "Hidden";

// What an option may do to which cases there are, and to how they are judged.
enum class Effect {
  kHarmless,
  kPlanTells,  // something, and the digest of a plan tells
  kRuleTells,  // something, and the gate has a rule about what the journal says of it
  kNarrows,    // something, and nothing else tells
};

// What only `proctor accept` can be told.
struct AcceptOptions {
  int level = 2;
  int hours = 0;  // of level 4
  std::optional<Milliseconds> budget{};
  std::string expect{};                       // --expect FILE
  std::optional<ExpectedMachine> expected{};  // what is in it
  std::string json{};                         // --json FILE
  bool drain = false;
  RunConfig config{};                       // of proctor.toml
  std::vector<std::string> again{};         // the command that repeats it; --devices may follow
  std::vector<std::string> command_line{};  // as typed; that of the run is what runs its cases again

  ChosenSteps steps() const {
    return budget ? choose_steps(level, static_cast<int>(budget->count() / 1000)) : choose_steps(level);
  }
};

struct RunOptions {
  MachineOptions machine;
  PlanOptions plan;
  RunPolicy policy;  // as typed; later laid over the configured one
  RunSetup setup;    // the caller's choices are in it from the start
  ConsoleOptions console;
  int jobs = 0;                      // 0: as many as there are devices, or cores
  std::string plan_file;             // "" = the cases are discovered
  std::string shard;                 // "" = all cases
  std::string resume;                // --resume DIR; "" = a run of its own
  std::vector<std::string> rest_of;  // --rest-of DIR: runs whose outcomes are left out
  std::string known_failures;
  std::vector<std::string> pins;  // --pin CASE=DEVICE, as typed
  Repeats repeats;                // --repeat
  bool require_cards = false;
  bool dry_run = false;
  std::string out;
  std::string join;      // --join: this run is a part of the one that is open below this directory
  bool is_part = false;  // one is open
  std::string junit;
  std::string history;
  std::vector<std::string> subject;  // --subject, as typed
  std::optional<std::string> ready_regex;
  std::string ready_timeout;
  std::string ready_file;
  bool workflow_commands = false;  // in the output of exec's command: they are obeyed
  AcceptOptions accept{};
  // argv of main(), for reruns. Of `accept`: the words with which `run` does the same.
  std::vector<std::string> command_line{};
  std::vector<NarrowingOption> narrowing{};  // of those that were typed
  std::optional<Error> mistake;  // the first value that could not be read; refused with everything else
};

void add_run_options(CLI::App& command, RunOptions& options);
void add_exec_options(CLI::App& command, RunOptions& options);
void add_accept_options(CLI::App& command, RunOptions& options);

// Puts the options of this command that `run` or `exec` has, too, below the headings of theirs.
void group_options(CLI::App& command);

// As the option is marked where the options of `run` and `exec` are declared; none: it is not.
std::optional<Effect> effect_of(const std::string& option);
// The options that were typed and are not harmless. One without a mark is not.
std::vector<NarrowingOption> narrowing_options(const CLI::App& command);

}  // namespace proctor::cli
