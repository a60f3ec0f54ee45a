// The input of an attempt: its cases, devices and environment, and the settings that all attempts of a run share.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/frameworks/kind.h"
#include "harness/journal/events.h"
#include "harness/plan/plan.h"
#include "harness/process/process_spec.h"
#include "harness/runner/attempt/readiness.h"
#include "harness/runner/machine/case_environment.h"

namespace proctor {

// Receives the output of the processes of cases when it arrives.
class OutputListener {
 public:
  virtual ~OutputListener() = default;
  virtual void on_output(const std::string& case_id, Stream stream, std::string_view bytes) = 0;
};

// The settings of all attempts of a run.
struct AttemptSetup {
  std::string run_id;
  std::string run_dir;  // absolute
  std::string
      own_program;  // the path of proctor, which gathers evidence and starts ranks; "": nothing is gathered
  bool inherit_stdio = false;  // --no-capture, --debugger: the process inherits stdin, stdout and stderr
  // `exec`: output is also written to stdout and stderr of the runner. `break_commands` means that workflow commands in
  // it are made ineffective (base/workflow_commands.h).
  bool pass_through = false;
  bool break_commands = false;
  std::vector<int> inherited{};       // `exec`: open descriptors of the caller that the command inherits
  OutputListener* output = nullptr;   // null: output is not needed before the end of the case
  std::vector<std::string> debugger;  // words before the command; the case then has no limits
  std::vector<std::string> evidence_environment;  // NAME=VALUE, for the program that gathers evidence
  std::optional<ReadyPolicy> ready;               // `exec --ready-regex`; none: no case becomes ready
};

// One execution of a case in a process.
struct AttemptCase {
  const Case* test = nullptr;
  int attempt = 1;
  int repeat = 1;
  bool silent = false;  // it runs only to restore the state for later cases, and appears in no event
};

// The input of one process.
struct AttemptPlan {
  const Suite* suite = nullptr;
  std::vector<AttemptCase> cases;    // at least one; several only if they have the same Case::group
  std::vector<std::string> devices;  // leased ids
  std::vector<int> leases;           // descriptors of the leases
  CaseEnvironment environment;       // without the variables of this attempt
  // For a case with ranks: the environment of each rank. Each rank has an equal share of `devices`, in order.
  // `environment` is then the environment of their supervisor.
  std::vector<CaseEnvironment> ranks;

  const Kind& kind() const { return *suite->kind; }
  bool is_batch() const { return cases.size() > 1; }
  // Returns how the process reports its cases.
  ReportingMode reporting_mode() const {
    return is_batch() ? kind().reporting_mode_of_several(*suite) : kind().reporting_mode(*suite);
  }
  const AttemptCase& first() const { return cases.front(); }
  // Returns the case that gives the log its name.
  const AttemptCase& first_reported() const { return *std::ranges::find(cases, false, &AttemptCase::silent); }
  std::vector<const Case*> tests() const {
    std::vector<const Case*> tests;
    for (const auto& entry : cases) tests.push_back(entry.test);
    return tests;
  }
};

}  // namespace proctor
