// The command that runs cases of a run again. Each red case shows it, and `proctor rerun` executes it.
#pragma once

#include <string>
#include <vector>

#include "reports/run_model.h"

namespace proctor {

// The entry of RunPlanned::stack that holds PROCTOR_SIM_FAULTS. Without it a rerun would not be the same run.
inline constexpr const char* kSimFaultsEntry = "sim.faults";

// The command that runs these cases again, in RunPlanned::directory: the command of the run with another
// selection. For `exec` it is the whole command, whatever the ids.
struct RerunCommand {
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> words;
};
RerunCommand rerun_of(const RunModel& model, const std::vector<std::string>& case_ids);

// The same for one case, quoted for a shell.
std::string rerun_command(const RunModel& model, const CaseRecord& record);

}  // namespace proctor
