// What an attempt is to do, and how every attempt of its run is made.
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

// Gets what the processes of cases write, as it comes.
class OutputListener {
 public:
  virtual ~OutputListener() = default;
  virtual void on_output(const std::string& case_id, Stream stream, std::string_view bytes) = 0;
};

// How every attempt of a run is made.
struct AttemptSetup {
  std::string run_id;
  std::string run_dir;         // absolute
  std::string own_program;     // proctor itself: gathers evidence and starts ranks; "": nothing is gathered
  bool inherit_stdio = false;  // --no-capture, --debugger: stdin, stdout and stderr are the runner's own
  // `exec`: output also goes to the runner's own stdout and stderr, where no command in it must be obeyed when
  // `break_commands` says so (base/workflow_commands.h).
  bool pass_through = false;
  bool break_commands = false;
  std::vector<int> inherited{};                   // `exec`: the caller's open descriptors, for the command
  OutputListener* output = nullptr;               // none: nobody wants it before the end of the case
  std::vector<std::string> debugger;              // put in front of the command; no limits then
  std::vector<std::string> evidence_environment;  // NAME=VALUE, for the program that gathers
  std::optional<ReadyPolicy> ready;  // `exec --ready-regex`; none: nobody waits for a case to be ready
};

struct AttemptCase {
  const Case* test = nullptr;
  int attempt = 1;
  int repeat = 1;
  bool silent = false;  // it runs only to restore the state for later cases, and is in no event
};

struct AttemptPlan {
  const Suite* suite = nullptr;
  std::vector<AttemptCase> cases;    // at least one; several only of one Case::group
  std::vector<std::string> devices;  // leased ids
  std::vector<int> leases;           // descriptors of their leases
  CaseEnvironment environment;       // without what is particular to the attempt
  // For a case with ranks, the same for each rank, which has an equal share of `devices`, in order;
  // `environment` is then that of their supervisor.
  std::vector<CaseEnvironment> ranks;

  const Kind& kind() const { return *suite->kind; }
  bool is_batch() const { return cases.size() > 1; }
  // How the process tells what its cases did.
  ReportingMode reporting_mode() const {
    return is_batch() ? kind().reporting_mode_of_several(*suite) : kind().reporting_mode(*suite);
  }
  const AttemptCase& first() const { return cases.front(); }
  // The log has its name.
  const AttemptCase& first_reported() const { return *std::ranges::find(cases, false, &AttemptCase::silent); }
  std::vector<const Case*> tests() const {
    std::vector<const Case*> tests;
    for (const auto& entry : cases) tests.push_back(entry.test);
    return tests;
  }
};

}  // namespace proctor
