#include "reports/resolve/run_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

// ---- Open skips and flaky cases ----

bool unkillable(const ResolvedCase& test) {
  return std::ranges::any_of(test.attempts, [](const Attempt& attempt) {
    return attempt.end && attempt.end->termination.unkillable;
  });
}

// Returns the verdict of a run with only this case.
RunVerdict verdict_by(const RunPlanned& plan, const ResolvedCase& test) {
  const RunVerdict verdict = meaning_of(test.verdict, test.planned.kind).run;
  const bool by_devices = verdict == RunVerdict::kFailed && plan.rules.each_device && test.fault_of_devices;
  return by_devices ? RunVerdict::kMachineFailed : verdict;
}

constexpr std::string_view kOurKind = "proctor";

// Cases of a suite that the tests themselves skipped.
struct SuiteSkips {
  std::size_t cases = 0;
  std::size_t skipped = 0;
  std::string why{};  // the reason of the first skip
};

bool is_skip(const ResolvedCase& test) {
  const Verdict verdict = test.verdict;
  return verdict.outcome == Outcome::kSkip && verdict.reason != Reason::kDisabled;
}

// Returns whether the test itself skipped. A skip by Proctor states a requirement, and has other rules.
bool is_own_skip(const ResolvedCase& test) {
  constexpr Reason kOfProctor[] = {Reason::kNeeds,  Reason::kNoDevice,     Reason::kNoDriver,
                                   Reason::kHidden, Reason::kDriverTooOld, Reason::kConfig};
  const auto is_reason = [&](Reason reason) { return test.verdict.reason == reason; };
  return is_skip(test) && std::ranges::none_of(kOfProctor, is_reason);
}

SuiteSkips skips_of(const ResolvedRun& run, const PlannedSuite& suite) {
  SuiteSkips skips;
  for (const ResolvedCase& test : run.cases) {
    if (test.planned.suite != suite.name || test.planned.backend != suite.backend) continue;
    ++skips.cases;
    if (is_own_skip(test) && skips.skipped++ == 0) skips.why = clean_text(test.verdict.reason.text());
  }
  return skips;
}

bool has_devices(const RunPlanned& plan, const PlannedSuite& suite) {
  return suite.devices > 0 &&
         std::ranges::find(plan.devices, suite.backend, &PlannedDevice::backend) != plan.devices.end();
}

std::string open_skips_of(const ResolvedRun& run, const PlannedSuite& suite) {
  const SuiteSkips skips = skips_of(run, suite);
  if (skips.skipped == 0 || suite.devices_disabled || suite.kind == kOurKind) return {};
  if (has_devices(run.plan, suite) && skips.skipped == skips.cases)
    return fmt::format(
        "suite `{}` uses devices, and {} ({}). To run without the suite, add --exclude '{}/*'", suite.name,
        skips.cases == 1 ? "its only case was skipped"
                         : fmt::format("all of its {} were skipped", count_text(skips.cases, "case")),
        skips.why, suite.name);
  if (suite.devices > 0 || run.plan.backends_present.empty()) return {};
  return fmt::format(
      "suite `{}` skipped {} and got no device, although this machine has some. Add --gpus 1, or "
      "--gpus 0 if it needs none",
      suite.name, count_text(skips.skipped, "case"));
}

std::string forbidden_skips(const ResolvedRun& run) {
  const std::string& reasons = run.plan.rules.fail_on_skip;
  if (reasons.empty()) return {};
  const auto is_forbidden = [&](const ResolvedCase& test) {
    return is_skip(test) && glob_match(reasons, test.verdict.reason.text());
  };
  const auto count = std::ranges::count_if(run.cases, is_forbidden);
  if (count == 0) return {};
  const auto first = std::ranges::find_if(run.cases, is_forbidden);
  return fmt::format("--fail-on-skip={} was given, and {} skipped, first {} ({})", clean_text(reasons),
                     count_text(count, "case").append(plural(count, " was", " were")),
                     clean_text(first->planned.id), clean_text(first->verdict.reason.text()));
}

// A few percent of a small suite are less than one case, so at least one is allowed.
int most_flaky(int executed, int budget) { return budget == 0 ? 0 : std::max(1, executed * budget / 100); }

FlakyCases flaky_cases(const ResolvedRun& run) {
  FlakyCases flaky;
  for (const ResolvedCase& test : run.cases) flaky.count += test.flaky ? 1 : 0;
  const int executed = run.summary.executed();
  const int most = run.plan.flaky_passes ? most_flaky(executed, run.plan.max_flaky_percent) : 0;
  flaky.allowed = flaky.count <= most;
  const int least = (flaky.count * 100 + executed - 1) / std::max(executed, 1);
  flaky.option = fmt::format("--flaky pass:{}%", flaky.count == 1 ? 1 : std::min(least, 100));
  return flaky;
}

int least_executed(const ResolvedRun& run) {
  const RunPlanned& plan = run.plan;
  const bool empty_shard = plan.shard && run.cases.empty();
  const bool may_be_none = empty_shard || (plan.rules.allow_no_device && !plan.missing_backend.empty());
  return may_be_none ? plan.rules.min_executed : std::max(plan.rules.min_executed, 1);
}

std::vector<std::string> open_skips(const ResolvedRun& run) {
  std::vector<std::string> sentences;
  if (run.plan.exec) return sentences;
  for (const PlannedSuite& suite : run.plan.suites) sentences.push_back(open_skips_of(run, suite));
  sentences.push_back(forbidden_skips(run));
  std::erase(sentences, "");
  return sentences;
}

// ---- The exit code ----

int exit_code_so_far(const ResolvedRun& run) {
  bool failed = !run.flaky_cases.allowed || run.warned_of(WarningCode::kPartRefused);
  bool machine = run.warned_of_machine();
  bool incomplete = (!run.plan.missing_backend.empty() && !run.plan.rules.allow_no_device) ||
                    run.warned_of(WarningCode::kPartIncomplete) || !run.open_skips.empty();
  for (const ResolvedCase& test : run.cases) {
    const RunVerdict verdict = verdict_by(run.plan, test);
    failed = failed || verdict == RunVerdict::kFailed;
    machine = machine || verdict == RunVerdict::kMachineFailed || unkillable(test) ||
              has_mark(test.marks, Mark::kDeviceSuspect) || !test.not_tried.empty();
    incomplete = incomplete || verdict == RunVerdict::kIncomplete;
  }
  if (failed) return kExitRed;
  if (machine) return kExitMachine;
  if (incomplete || run.summary.executed() < run.least_executed) return kExitIncomplete;
  return kExitGreen;
}

int shell_exit_code(const ResolvedRun& run) {
  if (run.ending_signal != 0) return 128 + run.ending_signal;
  return run.plan.exec ? run.exec_end.code : run.exit_code;
}

RunVerdict verdict_of_run(const ResolvedRun& run) {
  using enum RunVerdict;
  const int code = run.shell_exit_code;
  const bool exec = run.plan.exec;
  const bool as_reported = exec && code == kExitGreen;  // a server that was stopped on request
  if (run.stop_signal != 0 && !as_reported) return kInterrupted;
  if (code == kExitMachine) return kMachineFailed;
  const bool cut_short = !run.ended || (run.stop && run.stop->reason == StopCause::kParentDied);
  const bool failed = exec ? code != kExitGreen : code == kExitRed;
  if (failed && !(exec && cut_short)) return kFailed;
  if (cut_short) return kInterrupted;
  return code == kExitIncomplete ? kIncomplete : kPassed;
}

// ---- exec ----

// Returns the end of the last attempt, if it is known.
const AttemptEnded* end_of(const ResolvedRun& run) {
  if (run.cases.empty() || run.cases.front().attempts.empty()) return nullptr;
  const Attempt& attempt = run.cases.front().attempts.back();
  return attempt.end ? &*attempt.end : nullptr;
}

// Returns the end of the command itself, if Proctor did not cause it.
ExecEnd own_end(const ResolvedRun& run, const AttemptEnded& end) {
  if (end.exit_code) {
    if (*end.exit_code != 0) return {.code = *end.exit_code, .signal = 0};
    if (run.warned_of(WarningCode::kOutputNotWritten)) return {.code = kExecInternal, .signal = 0};
    return {.code = run.warned_of_machine() ? kExitMachine : 0, .signal = 0};
  }
  if (run.stop_signal != 0 && (end.termination.forced || !end.exit_signal))
    return {.code = 0, .signal = run.stop_signal};
  if (end.exit_signal) return {.code = 0, .signal = *end.exit_signal};
  return {.code = kExecInternal, .signal = 0};
}

// Returns the end of a server that was stopped on request: by that signal, or with exit code 0.
ExecEnd reported_end(const ResolvedRun& run, AttemptEnded end) {
  end.exit_code = 0;
  return own_end(run, end);
}

ExecEnd exec_end(const ResolvedRun& run) {
  const AttemptEnded* end = end_of(run);
  if (!end) {  // never started, or the runner was killed
    if (run.stop_signal != 0) return {.code = 0, .signal = run.stop_signal};
    const bool started = !run.cases.empty() && !run.cases.front().attempts.empty();
    return {.code = started ? kExecInternal : kExitMachine, .signal = 0};
  }
  if (end->termination.unkillable) return {.code = kExitMachine, .signal = 0};
  const ReasonMeaning* why = meaning_of_reason(end->verdict);
  if (why != nullptr && why->exec != 0) return {.code = why->exec, .signal = 0};
  switch (meaning_of(end->verdict).exec) {
    case ExecCode::kMachine:
      return {.code = kExitMachine, .signal = 0};
    case ExecCode::kLimit:
      return {.code = kExecTimeout, .signal = 0};
    case ExecCode::kHarness:
      return {.code = kExecInternal, .signal = 0};
    case ExecCode::kCommand:
      break;
  }
  const bool reported = end->verdict.outcome == Outcome::kPass && run.stop_signal != 0;
  return reported ? reported_end(run, *end) : own_end(run, *end);
}

bool is_own_end(const AttemptEnded* end) {
  if (!end || end->termination.unkillable || end->verdict.reason == Reason::kNotReady) return false;
  const Outcome outcome = end->verdict.outcome;
  return outcome == Outcome::kPass || outcome == Outcome::kFail || outcome == Outcome::kSkip;
}

// ---- Problems ----

constexpr std::size_t kMostNamed = 20;
constexpr std::size_t kNameBytes = 200;

// Returns the cases for which `is_meant` is true, one in each line.
template <typename IsMeant>
std::string named(const ResolvedRun& run, IsMeant is_meant) {
  std::string text;
  std::size_t count = 0;
  for (const ResolvedCase& test : run.cases) {
    if (!is_meant(test)) continue;
    if (++count > kMostNamed) continue;
    text += "\n" + one_line(clean_text(test.planned.id), kNameBytes);
    if (test.moved) text += ": " + test.headline;
  }
  if (count > kMostNamed) text += fmt::format("\nand {} more", thousands(count - kMostNamed));
  return text;
}

void add_shortage(const ResolvedRun& run, std::vector<RunProblem>& problems) {
  if (const auto text = no_device_text(run.plan); !text.empty() && !run.plan.rules.allow_no_device)
    problems.push_back({"no_device", "No device", text + "."});
  for (const std::string& sentence : run.open_skips)
    problems.push_back({"skipped", "Skipped tests", sentence + "."});
  if (const auto text = shortage_text(run); !text.empty() && !run.plan.exec)
    problems.push_back({"min_executed", "Too little was executed", text + "."});
}

void add_chance(const ResolvedRun& run, std::vector<RunProblem>& problems) {
  const FlakyCases& flaky = run.flaky_cases;
  if (flaky.allowed) return;
  problems.push_back(
      {std::string(kFlakyProblem), "Flaky cases",
       fmt::format("{} failed and then passed, more than the policy of the run allows. {} allows them:{}",
                   count_text(flaky.count, "case"), flaky.option,
                   named(run, [](const ResolvedCase& test) { return test.flaky; }))});
}

// A warning that is a problem of the run.
struct ProblemWarning {
  WarningCode code;
  std::string_view name;
  std::string_view title;
};
constexpr std::array kProblemWarnings = {
    ProblemWarning{WarningCode::kDeviceShortage, "no_device", "No device"},
    ProblemWarning{WarningCode::kDeviceAccess, "device_access", "Devices cannot be reached"},
    ProblemWarning{WarningCode::kStackChanged, "stack_changed", "The driver stack changed"},
    ProblemWarning{WarningCode::kMaskMismatch, "mask_mismatch", "Other devices than those leased"},
    ProblemWarning{WarningCode::kPartRefused, "part_refused", "A part was refused"},
    ProblemWarning{WarningCode::kPartIncomplete, "part_incomplete", "A part is incomplete"},
    ProblemWarning{WarningCode::kReportNotWritten, "report_not_written", "A report is missing"},
    ProblemWarning{WarningCode::kJournalChanged, "journal_changed", "The journal was changed"},
};

void add_machine(const ResolvedRun& run, std::vector<RunProblem>& problems) {
  const auto suspect = [&](const ResolvedCase& test) { return test.moved; };
  const bool not_tried =
      std::ranges::any_of(run.cases, [&](const ResolvedCase& test) { return !test.not_tried.empty(); });
  if (not_tried || std::ranges::any_of(run.cases, suspect)) {
    const std::string what = run.device_verdict ? run.device_verdict->sentence
                                                : "Cases failed on one device and passed on another.";
    problems.push_back({std::string(kDeviceProblem), "Suspect device", what + named(run, suspect)});
  }
  for (const Warning& warning : run.warnings) {
    const auto of = std::ranges::find(kProblemWarnings, warning.code, &ProblemWarning::code);
    if (of != kProblemWarnings.end())
      problems.push_back({std::string(of->name), std::string(of->title), warning.text});
  }
  if (std::ranges::any_of(run.cases, unkillable)) {
    problems.push_back({"unkillable", "A process could not be killed",
                        "A process of these cases did not die:" + named(run, unkillable)});
  }
}

}  // namespace

void resolve_exit_code(ResolvedRun& run) {
  run.flaky_cases = flaky_cases(run);
  run.least_executed = least_executed(run);
  run.open_skips = open_skips(run);
  run.exit_code_so_far = exit_code_so_far(run);
  run.exit_code = run.exit_code_so_far == kExitGreen && !run.ended ? kExitIncomplete : run.exit_code_so_far;
  if (run.plan.exec) {
    run.exec_end = exec_end(run);
    run.exec_end.is_own = is_own_end(end_of(run));
  }
  run.ending_signal = run.plan.exec ? run.exec_end.signal : run.stop_signal;
  run.shell_exit_code = shell_exit_code(run);
  run.verdict = verdict_of_run(run);
}

RunProblem interruption(const ResolvedRun& run) {
  return {"interrupted", "The run was interrupted",
          fmt::format("{}; {} of {} cases have no result.",
                      run.stop ? "It was stopped: " + run.stop->reason.text() : "Its runner was killed",
                      thousands(run.summary[Outcome::kNotrun]), thousands(run.summary.planned()))};
}

void resolve_problems(ResolvedRun& run) {
  const int code = run.shell_exit_code;
  std::vector<RunProblem> problems;
  if (code != kExitGreen && run.verdict == RunVerdict::kInterrupted) problems.push_back(interruption(run));
  add_shortage(run, problems);
  add_chance(run, problems);
  add_machine(run, problems);
  const bool failed_case = std::ranges::any_of(run.cases, &ResolvedCase::bad);
  if (problems.empty() && !failed_case && code != kExitGreen) {
    problems.push_back({std::string(kUnexplained), fmt::format("Exit code {}", code),
                        "No single case explains it: see the warnings and the job summary."});
  }
  run.problems = std::move(problems);
}

}  // namespace proctor
