// The command that runs cases of a run again. Each red case shows it, and `proctor rerun` executes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// The entry of RunPlanned::stack that holds PROCTOR_SIM_FAULTS. Without it a rerun would not be the same run.
inline constexpr const char* kSimFaultsEntry = "sim.faults";

// With the name of a suite behind it, the entries of RunPlanned::stack of a run that was joined from parts: how each
// suite was started (reports/merge/join.h).
inline constexpr std::string_view kCommandEntry = "command.";

// The command that runs these cases again, in RunPlanned::directory, with the options, the variables of the caller and
// the devices of the run. Without ids it is the whole run. For `exec` it is the whole command, whatever the ids.
struct RerunCommand {
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> words;        // empty: the cases were started by different commands
  std::string directory;
  std::vector<std::string> left_out{};   // options that are about a whole run: "--deadline 5m"
  std::vector<std::string> on_others{};  // cases of several devices, which may get others than they had
};

// On which devices cases run again.
enum class RerunOn {
  kSame,   // on those that they had
  kOfRun,  // on those that the run had
  kAny,
};
RerunCommand rerun_of(const ResolvedRun& run, const std::vector<std::string>& case_ids,
                      RerunOn on = RerunOn::kSame);

// Describes the first attempt of a case that shared its process: its result, and the cases that began there earlier.
struct SharedProcess {
  bool was_bad = false;
  std::vector<std::string> before{};  // empty: it was the first
};
std::optional<SharedProcess> shared_process_of(const ResolvedRun& run, const std::string& case_id);

// The devices of all attempts of a case, in the order of their first use.
std::vector<std::string> devices_of(const ResolvedCase& test);

// `words` without these options of `proctor run` or `proctor exec` and their values. What follows `--` stays.
std::vector<std::string> without_options(const std::vector<std::string>& words,
                                         const std::vector<std::string>& names);

// The value of this option of `proctor run`, or "". What follows `--` has none.
std::string option_value(const std::vector<std::string>& words, std::string_view option);

// The run directory, for a shell in the directory where the run was started.
std::string directory_of_run(const RunPlanned& plan);

// For a shell in `directory`: `cd DIRECTORY && NAME=VALUE... proctor run ...`, each part but the last optional.
std::string command_text(const RerunCommand& command, const std::string& directory);

// How a run was started, without a selection of cases, for a shell in `directory`.
std::string command_of_part(const ResolvedRun& run, const std::string& directory);

// Sets the command that runs each case again: what repeats its outcome, quoted for a shell. That of a case that fails only
// after others is `proctor rerun RUN_DIR --bisect CASE`, which finds those.
void resolve_rerun_lines(ResolvedRun& run);

}  // namespace proctor
