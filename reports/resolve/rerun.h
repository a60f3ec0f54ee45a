// Builds the command that runs cases of a run again. Each failed case shows it, and `proctor rerun` executes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// The entry of RunPlanned::stack with the value of PROCTOR_SIM_FAULTS, which a rerun needs.
inline constexpr const char* kSimFaultsEntry = "sim.faults";

// The prefix of entries in RunPlanned::stack of a run that was joined from parts. The name of a suite follows, and the
// value is the command that started the suite (reports/merge/join.h).
inline constexpr std::string_view kCommandEntry = "command.";

// The command that runs cases again in RunPlanned::directory, with the options, the devices and the caller's variables
// of the run. Without ids it repeats the complete run. For `exec` it is always the complete command.
struct RerunCommand {
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> words;        // empty: the cases were started by different commands
  std::string directory;
  std::vector<std::string> left_out{};  // options that apply to a complete run only: "--deadline 5m"
  std::vector<std::string>
      on_others{};  // cases with several devices, which may get other devices than before
};

// The devices on which cases run again.
enum class RerunOn {
  kSame,   // the devices of each case
  kOfRun,  // the devices of the run
  kAny,
};
RerunCommand rerun_of(const ResolvedRun& run, const std::vector<std::string>& case_ids,
                      RerunOn on = RerunOn::kSame);

// The first attempt of a case in a shared process: its result, and the cases that began earlier in this process.
struct SharedProcess {
  bool was_bad = false;
  std::vector<std::string> before{};  // empty: the case was the first
};
std::optional<SharedProcess> shared_process_of(const ResolvedRun& run, const std::string& case_id);

// Returns the devices of all attempts of a case, in the order of their first use.
std::vector<std::string> devices_of(const ResolvedCase& test);

// Returns `words` without these options of `proctor run` or `proctor exec` and their values. Words after `--` are kept.
std::vector<std::string> without_options(const std::vector<std::string>& words,
                                         const std::vector<std::string>& names);

// Returns the value of this option of `proctor run`, or "". Words after `--` are ignored.
std::string option_value(const std::vector<std::string>& words, std::string_view option);

// Returns the run directory, for a shell in the directory in which the run was started.
std::string directory_of_run(const RunPlanned& plan);

// Returns the command line for a shell in `directory`: `cd DIRECTORY && NAME=VALUE... proctor run ...`. All parts but
// the last are optional.
std::string command_text(const RerunCommand& command, const std::string& directory);

// Returns the command that started a run, without a selection of cases, for a shell in `directory`.
std::string command_of_part(const ResolvedRun& run, const std::string& directory);

// Sets the command that reproduces the outcome of each case, quoted for a shell. If a case fails only after other
// cases, the command is `proctor rerun RUN_DIR --bisect CASE`, which finds these cases.
void resolve_rerun_lines(ResolvedRun& run);

}  // namespace proctor
