// What people read about one outcome. Every red answers first: whose problem, what, the rerun command, where
// to look. Human text: it may change; machines read the verdict.
#pragma once

#include <string>
#include <vector>

#include "reports/run_model.h"

namespace proctor {

// Why the case ended badly, if an attempt shows its verdict and was diagnosed; else null.
const Diagnosis* diagnosis_of(const RunModel& model, const CaseRecord& record);

// Whose problem it is: the diagnosis says it or, without one, the outcome alone.
Blame blame_in(const RunModel& model, const CaseRecord& record);

// "device_lost (xid:79): NVRM: Xid ...", one line; "" when there is nothing that the outcome does not say.
std::string cause_text(const Diagnosis* diagnosis);

// What to do next, one sentence; "" when that is to read the failure.
std::string next_text(const Diagnosis* diagnosis);

// One line of at most 200 bytes: the first failed expectation, "killed by signal 11
// (SIGSEGV); last step ...", ...
std::string headline(const RunModel& model, const CaseRecord& record);
// The same for one attempt of it.
std::string headline(const RunModel& model, const CaseRecord& record, const Attempt& attempt);

// The entry of RunPlanned::stack that holds PROCTOR_SIM_FAULTS: without it a rerun is not the same run.
inline constexpr const char* kSimFaultsEntry = "sim.faults";

// What runs these cases again, in RunPlanned::directory: the run's own command with its selection replaced.
// Of `exec` it is the whole command, whatever the ids.
struct RerunCommand {
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> words;
};
RerunCommand rerun_of(const RunModel& model, const std::vector<std::string>& case_ids);

// The same for one case, quoted for a shell.
std::string rerun_command(const RunModel& model, const CaseRecord& record);

// Source line, log (relative to the run directory), rule and source; what to look at
// when there is none of them.
std::string where_to_look(const RunModel& model, const CaseRecord& record);

// The four answers, one line each (what to do next is a line of its own), and the evidence of a limit, at
// most ten; every line with its newline.
std::string explain_failure(const RunModel& model, const CaseRecord& record);

}  // namespace proctor
