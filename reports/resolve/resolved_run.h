// A run as every report shows it: the records of its runner, and the facts that follow from them. RunResolver
// (run_resolver.h) computes each fact once, from the memory of the runner or from a journal. Both give the same run.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/events.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/resolved_case.h"

namespace proctor {

// The number of cases with each outcome. planned() is the sum of all counts.
struct Summary {
  std::array<int, kAllOutcomes.size()> counts{};

  int operator[](Outcome outcome) const { return counts[static_cast<std::size_t>(outcome)]; }
  int& operator[](Outcome outcome) { return counts[static_cast<std::size_t>(outcome)]; }
  int planned() const;
  // Returns the number of cases that are neither skip nor notrun.
  int executed() const;
};

// The circumstances of a suite that can change its results.
struct Variant {
  std::string suite{};
  std::string backend{};
  std::string stack{};  // the name of the stack of the image; "" outside of an image
  // The models of the backend's devices in the run, sorted, each once, joined by " + ". The device of a single case is
  // not used, because it is random, and each run would have another variant.
  std::string device_model{};
  bool simulated = false;

  friend auto operator<=>(const Variant&, const Variant&) = default;
};
std::string to_string(const Variant& variant);  // "memory.xpu on Intel Data Center GPU Max 1550, simulated"

// The cases of one suite on one backend.
struct SuiteSum {
  std::string suite{};
  std::string backend{};
  Summary summary{};
  int flaky = 0;
  std::int64_t duration_ms = 0;
};

// Cases that failed for one cause (causes.h).
struct CauseGroup {
  std::vector<const ResolvedCase*> cases{};  // new failures first, then in the planned order
  bool is_new = false;                       // every case is a new failure
  bool is_flaky = false;                     // the cases failed and then passed
  bool is_moved = false;                     // the cases failed on one device, and passed on another
};

// Numbers of cases and of causes. A sentence must name which of them it means.
struct FailureCount {
  std::size_t failed = 0;  // cases
  std::size_t flaky = 0;   // cases
  std::size_t causes = 0;  // causes of the failed cases
  std::size_t fresh = 0;   // causes without an earlier failure
};

// The failures on one device, over all cases.
struct DeviceShare {
  std::string device{};
  int bad = 0;  // attempts that failed on it
  int all = 0;  // attempts on it that passed or failed
  int bad_cases = 0;
  bool is_outlier = false;  // more cases failed on it than chance explains
  double p = 1;             // the probability that it is chance
};

// A sentence such as "6 of 42 attempts failed on xpu-sim:0, 1 of 125 elsewhere (p = 0.0006)."
struct DeviceSuspicionText {
  std::string sentence{};
  std::string device{};
};

// A placeholder for the run directory in DeviceVerdict::command.
inline constexpr std::string_view kRunDirectory = "RUN_DIRECTORY";

// The summary about the devices of the run: the first line of console, page and summary (device_verdict.h).
struct DeviceVerdict {
  // "GPU cuda-sim:2 is unhealthy: its health probe failed after s/a. The code passed on cuda-sim:0, 1, 3."
  std::string sentence{};
  std::vector<std::string> more{};  // one sentence each: evidence, moved cases, cases that were not run
  std::string exit{};               // the meaning of the exit code
  std::string advice{};             // "Drain the node, then test the device:"
  std::string command{};            // "" for none; contains kRunDirectory

  std::string command_in(const std::string& run_dir) const;
};

// Cases that failed and then passed, with the mark `flaky`.
struct FlakyCases {
  int count = 0;
  bool allowed = true;   // the policy of the run allows this number
  std::string option{};  // an option that would allow them: "--flaky pass:4%"
};

// A problem of the run that is not the failure of a case (run_end.h).
struct RunProblem {
  std::string name{};  // "flaky": the name of its testcase
  std::string title{};
  std::string message{};
};

// The end of `proctor exec`: an exit code or a signal.
struct ExecEnd {
  int code = 0;
  int signal = 0;       // not 0: the signal that Proctor raises
  bool is_own = false;  // the command ended by itself, and its code or signal is passed on
};

// An entry of the list of known failures, and how often it was used.
struct KnownFailureUse {
  const KnownFailureEntry* entry = nullptr;
  int hits = 0;                    // cases that failed as the entry expects
  std::optional<int> days_left{};  // from the start of the run; below 0: expired; nothing: unknown
};

std::string days_left_words(int days);  // "3 days left", "the last day", "expired 1 day before"

// The plan of which a run executes a part: a shard (`run --shard`), or the remaining cases of other runs (`run
// --resume`, `plan --remaining`).
struct WholePlan {
  std::string plan{};         // the digest of its file (PlannedShard::plan); "" for a plan without a file
  std::string plan_digest{};  // digest_of_plan() of its cases
  int planned = 0;            // the number of its cases
  int shards = 1;

  friend bool operator==(const WholePlan&, const WholePlan&) = default;
};

// A run with all its facts. It can be moved but not copied, because its members point at each other.
struct ResolvedRun {
  ResolvedRun() = default;
  ResolvedRun(ResolvedRun&&) = default;
  ResolvedRun& operator=(ResolvedRun&&) = default;

  // ---- Recorded ----
  bool has_plan = false;
  RunPlanned plan{};                  // `plan.cases` is empty: see `cases`
  std::vector<ResolvedCase> cases{};  // in the planned order
  std::vector<Warning> warnings{};
  std::vector<DeviceHealth> health{};  // without the baselines
  // The facts about the devices from the kernel, at the start and at the end of the run.
  std::vector<HardwareEvidence> hardware{};
  // The bytes in use on each device before the first case, if the driver reports them.
  std::map<std::string, std::uint64_t> device_baseline{};
  std::optional<StopRequested> stop{};  // the first one
  std::optional<RunEnded> ended{};
  int stop_signal = 0;                      // the signal that stopped the run; 0: none
  std::int64_t elapsed_ms = 0;              // from the start of the run to the newest record
  std::map<std::string, CasePast> pasts{};  // by case; empty: the run had no history
  std::map<std::string, ProgramRead> programs{};
  std::unique_ptr<CommonFacts> common = std::make_unique<CommonFacts>();
  std::vector<std::uint32_t> by_id{};  // indexes of `cases`, sorted by id

  // ---- Derived ----
  bool simulated = false;  // the run is not evidence about hardware
  Summary summary{};
  std::vector<SuiteSum> suites{};   // by suite and backend
  std::vector<Variant> variants{};  // in the order of their first cases
  // The causes of failures and of flaky cases. Failures come before flaky cases, new causes before old ones, and then
  // causes with many cases before causes with few.
  std::vector<CauseGroup> causes{};
  FailureCount failures{};
  std::vector<DeviceShare> device_shares{};
  std::vector<DeviceSuspicionText> device_suspicions{};
  // It is empty if no device is unhealthy or suspect, and --each-device has nothing to compare.
  std::optional<DeviceVerdict> device_verdict{};
  std::vector<KnownFailureUse> known_failures{};  // one for each entry of the list
  WholePlan whole_plan{};
  FlakyCases flaky_cases{};
  // Skips because of which it is unknown whether the tests of a suite pass on a device, and skips that --fail-on-skip
  // does not allow. Each is a sentence without a full stop that names the option to add.
  std::vector<std::string> open_skips{};
  int least_executed = 0;  // number of cases that must be executed (run_end.h)
  ExecEnd exec_end{};      // for `proctor exec`
  int exit_code = kExitIncomplete;
  int exit_code_so_far = kExitIncomplete;  // as if the run ended now
  int ending_signal = 0;  // the signal by which the runner ends itself after the reports; 0: none
  int shell_exit_code = kExitIncomplete;  // the status that a shell gets
  RunVerdict verdict = RunVerdict::kIncomplete;
  std::vector<RunProblem> problems{};
  std::map<std::string, RerunLine> rerun_lines{};

  const ResolvedCase* find(std::string_view case_id) const;
  // Returns the digest of a suite's program, or the reason why it is unknown.
  ProgramRead program_read(const PlannedSuite& suite) const;
  bool warned_of(WarningCode code) const;
  bool warned_of_machine() const;  // by a warning for which is_machine_warning() is true
};

// Returns the ids of the cases that the run did not execute, in the planned order.
std::vector<std::string> cases_left_by(const ResolvedRun& run);

// Returns why no case of RunPlanned::missing_backend could run, and the next step, without a full stop; "" if no
// backend is missing.
std::string no_device_text(const RunPlanned& plan);

}  // namespace proctor
