// The first two steps of a run: merge the request with the keys of its files, and check it. The second step refuses
// everything that can be refused without starting a program. It also opens the machine. run.cc calls these functions.
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

// The result of the first step: the request, merged with the keys of its files.
struct AskedRun {
  RunRequest typed{};
  RunRequest keys{};     // the keys of the files that apply to the command
  RunRequest request{};  // `typed` merged with `keys`; `typed` takes precedence
  ConfigFiles files{};
};

// Returns whether the options select some of the cases.
bool leaves_cases_out(const SelectionOptions& chosen);

// Merges the request with the keys of its files. Refuses files with mistakes in their keys of [run].
Result<AskedRun> ask(const RunRequest& typed);

// The known failures of a run. The entries of the user's file precede those of the built-in list.
struct AllKnownFailures {
  KnownFailures list;
  std::optional<KnownFailuresFile> file;  // the user's file
};

// The result of the second step: a request that is consistent, and the files and options that it names, parsed.
struct Checked {
  AskedRun asked{};
  std::string run_id{};
  SaidSubject subject{};
  Machine* machine = nullptr;
  std::optional<Shard> shard{};
  AllKnownFailures known_failures{};
  Repeats repeats{};
  int executions = 1;                         // the maximum per case
  std::vector<std::string> debugger{};        // the words of --debugger
  std::optional<ReadyPolicy> ready{};         // from --ready-regex
  std::optional<ExpectedMachine> expected{};  // from --expect
  std::optional<SeenPrograms> seen{};         // from --repeat new:N
  std::shared_ptr<History> history{};         // the state of --history before the run; null: no history
  std::vector<Warning> warnings{};

  const RunRequest& request() const { return asked.request; }
  // Returns whether the only case inherits the caller's terminal.
  bool gives_terminal() const { return request().terminal.no_capture || !debugger.empty(); }
};

// Runs the second step. Refuses contradictory options and unusable files, and opens the machine.
Result<Checked> check(AskedRun asked, const std::string& run_id, Machine& machine);
// Kills the processes and removes the files that killed runs left. Adds warnings about this to `checked`.
void sweep_dead(Checked& checked);

// Appends the sentence of about_machine() to the error if named devices are not usable on this machine.
Error with_finding(Error error, const Machine& machine);
// Returns one sentence: that the machine is simulated, or what the doctor finds on it.
std::string about_machine(const Machine& machine);

}  // namespace proctor::runner
