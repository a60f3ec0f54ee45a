// The command that runs cases of a run again. Each red case shows it, and `proctor rerun` executes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/model/run_model.h"

namespace proctor {

// The entry of RunPlanned::stack that holds PROCTOR_SIM_FAULTS. Without it a rerun would not be the same run.
inline constexpr const char* kSimFaultsEntry = "sim.faults";

// With the name of a suite behind it, the entries of RunPlanned::stack of a run that was joined from parts: how each
// suite was started (reports/merge/join.h).
inline constexpr std::string_view kCommandEntry = "command.";

// The command that runs these cases again, in RunPlanned::directory: the command of the run with another
// selection. For `exec` it is the whole command, whatever the ids.
struct RerunCommand {
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> words;        // empty: the cases were started by different commands
  std::string directory;
};
RerunCommand rerun_of(const RunModel& model, const std::vector<std::string>& case_ids);

// For a shell in `directory`: `cd DIRECTORY && NAME=VALUE... proctor run ...`, each part but the last optional.
std::string command_text(const RerunCommand& command, const std::string& directory);

// How a run was started, without a selection of cases, for a shell in `directory`.
std::string command_of_part(const RunModel& model, const std::string& directory);

// The same for one case, quoted for a shell.
std::string rerun_command(const RunModel& model, const CaseRecord& record);

}  // namespace proctor
