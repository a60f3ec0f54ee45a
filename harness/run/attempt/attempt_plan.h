// What an attempt is to do, and what it shares with the other attempts of its run.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/clock.h"
#include "harness/core/events.h"
#include "harness/machine/case_environment.h"
#include "harness/machine/scratch.h"
#include "harness/plan/kinds/kind.h"
#include "harness/plan/plan.h"
#include "harness/process/process_spec.h"
#include "harness/run/attempt/core_files.h"
#include "harness/run/attempt/diagnose.h"
#include "harness/run/attempt/log_names.h"
#include "harness/run/attempt/readiness.h"
#include "harness/run/attempt/start_costs.h"
#include "harness/run/care/telemetry.h"

namespace boost::asio {
class io_context;
}

namespace proctor {

class Containment;

// How every attempt of a run is made.
struct AttemptSetup {
  std::string run_dir;         // absolute
  std::string own_program;     // proctor itself: gathers evidence and starts ranks; "": nothing is gathered
  bool inherit_stdio = false;  // --no-capture, --debugger: stdin, stdout and stderr are the runner's own
  // `exec`: output also goes to the runner's own stdout and stderr, where no command in it must be obeyed when
  // `break_commands` says so (core/workflow_commands.h).
  bool pass_through = false;
  bool break_commands = false;
  std::vector<int> inherited{};  // `exec`: the caller's open descriptors, for the command
  // What the process of a case writes, as it comes; may be empty.
  std::function<void(const std::string& case_id, Stream, std::string_view bytes)> on_output{};
  std::vector<std::string> debugger;              // put in front of the command; no limits then
  std::vector<std::string> evidence_environment;  // NAME=VALUE, for the program that gathers
  std::optional<ReadyPolicy> ready;  // `exec --ready-regex`; none: nobody waits for a case to be ready
};

// What all attempts of a run share.
struct AttemptContext {
  boost::asio::io_context& io;
  Containment& containment;
  EventSink& sink;
  ScratchRoot& scratch;
  const AttemptSetup& setup;
  const LogNames& names;
  const RunPlanned& planned;
  Clock::time_point run_started;
  Diagnoser diagnoser{};
  Telemetry* telemetry = nullptr;  // none: devices are not sampled
  CoreFiles cores{};
  StartCosts start_costs{};
  std::function<void()> on_stopped{};   // a case that has the terminal was stopped there
  Clock::duration frozen_told{0};       // of Containment::frozen()
  std::set<const Suite*> one_by_one{};  // suites whose programs cannot tell of several cases in a process
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
  Voice voice() const { return is_batch() ? kind().voice_of_several(*suite) : kind().voice(*suite); }
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
