// The first two steps of a run. In the second one, what can be refused without starting anything has been refused. The machine is open, and
// what killed runs left on it is swept.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/plan/config.h"
#include "harness/plan/known_failures.h"
#include "harness/plan/shard.h"
#include "harness/request/repeats.h"
#include "harness/request/run_request.h"
#include "harness/runner/attempt/readiness.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/record/subject.h"
#include "reports/accept/expected_machine.h"
#include "reports/history/history.h"
#include "reports/history/known_cases.h"

namespace proctor::runner {

// The first step of a run merges its request with the keys of its files.
struct AskedRun {
  RunRequest typed{};
  RunRequest keys{};     // of the files, as far as they count for the command
  RunRequest request{};  // both, the options first
  ConfigFiles files{};
};

// Returns whether the options select some of the cases.
bool leaves_cases_out(const SelectionOptions& chosen);

// Refuses files with mistakes in their keys of [run].
Result<AskedRun> ask(const RunRequest& typed);

// The user's list first, then the one that comes with the built-in suite.
struct AllKnownFailures {
  KnownFailures list;
  std::optional<KnownFailuresFile> file;  // the user's
};

struct Checked {
  AskedRun asked{};
  std::string run_id{};
  SaidSubject subject{};
  Machine* machine = nullptr;
  std::optional<Shard> shard{};
  AllKnownFailures known_failures{};
  Repeats repeats{};
  int executions = 1;                         // most of each case
  std::vector<std::string> debugger{};        // the words of --debugger
  std::optional<ReadyPolicy> ready{};         // of --ready-regex
  std::optional<ExpectedMachine> expected{};  // of --expect
  std::optional<SeenPrograms> seen{};         // of --repeat new:N
  std::shared_ptr<History> history{};         // of --history, as it is before the run; null: there is none
  std::vector<Warning> warnings{};

  const RunRequest& request() const { return asked.request; }
  // Whether the only case gets the caller's terminal.
  bool gives_terminal() const { return request().terminal.no_capture || !debugger.empty(); }
};

Result<Checked> check(AskedRun asked, const std::string& run_id, Machine& machine);
// Kills and removes what killed runs left. Adds the warnings of the process.
void sweep_dead(Checked& checked);

// Of a device that was asked for and is not here: what the doctor finds on this machine.
Error with_finding(Error error, const Machine& machine);
std::string about_machine(const Machine& machine);

}  // namespace proctor::runner
