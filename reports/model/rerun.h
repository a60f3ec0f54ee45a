// The command that runs cases of a run again. Each red case shows it, and `proctor rerun` executes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reports/model/run_model.h"

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
RerunCommand rerun_of(const RunModel& model, const std::vector<std::string>& case_ids,
                      RerunOn on = RerunOn::kSame);

// The devices of all attempts of a case, in the order of their first use.
std::vector<std::string> devices_of(const CaseRecord& record);

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
std::string command_of_part(const RunModel& model, const std::string& directory);

// Whether the case fails only after the cases that ran before it in its process.
bool fails_only_after_others(const CaseRecord& record);

// What repeats the outcome of one case, quoted for a shell: the command of its rerun, or for a case that
// fails_only_after_others() `proctor rerun RUN_DIR --bisect CASE`, which finds those.
std::string rerun_command(const RunModel& model, const CaseRecord& record);

// The same for many cases: all but the id depends on the suite and the devices alone, and is made once for them.
class RerunCommands {
 public:
  struct Command {
    std::string before;                // the id
    std::optional<std::string> after;  // none: the id is not in it, as with `exec`
  };

  explicit RerunCommands(const RunModel& model) : model_(model) {}
  std::string of(const CaseRecord& record);
  // What is the same for all cases with its key().
  const Command& around(const CaseRecord& record);
  static std::string key(const CaseRecord& record);

 private:
  const RunModel& model_;
  std::unordered_map<std::string, Command> by_key_;
};

}  // namespace proctor
