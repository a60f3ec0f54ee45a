#include "reports/resolve/failure_text.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "harness/base/duration.h"
#include "harness/base/text.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

constexpr std::size_t kLineBytes = 200;
// Names in harness/classify/rules.toml: the location that follows from the outcome alone, and the error class that is
// no more specific than `fail`.
constexpr std::string_view kWhereOutcome = "outcome";
constexpr std::string_view kTestFailure = "test_failure";
constexpr std::string_view kCrashRule = "outcome:crash";

void add_location(std::string& locations, const std::string& location) {
  if (!locations.empty()) locations += " · ";
  locations += location;
}

// Returns "logs/x.log" with the run directory before it.
std::string from_here(const std::string& run_dir, const std::string& file) {
  return run_dir.empty() ? file : (std::filesystem::path(run_dir) / file).string();
}

// Returns what to check for outcomes without a source line and a log.
std::string next_action(const ResolvedCase& test, const std::string& run_dir) {
  if (test.verdict.reason == Reason::kSpawn) {
    return test.of_exec ? "the command, and PATH" : "the command of the suite in its config, and PATH";
  }
  if (test.verdict.reason == Reason::kDiscovery) return "the listing command, started by hand";
  switch (test.problem) {
    case FailureOwner::kMachine:  // without an attempt, the kernel log has no entry about it
      return test.attempts.empty() ? "proctor doctor" : "proctor doctor, and the kernel log (dmesg)";
    case FailureOwner::kSetup:
      return "the limits of the run: --deadline, --fail-fast, and what stopped it";
    case FailureOwner::kCode:
    case FailureOwner::kNobody:
      break;
  }
  return from_here(run_dir, "journal.jsonl");
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("{:15}{}\n", label, text);
}

std::string line_if_any(std::string_view label, std::string_view text) {
  return text.empty() ? "" : line(label, text);
}

// Returns the state of its processes at the limit, at most ten lines.
std::string evidence_text(const ResolvedCase& test) {
  const Attempt* attempt = test.deciding;
  std::string text;
  if (attempt == nullptr || !attempt->end) return text;
  for (const std::string& evidence : attempt->end->evidence.lines)
    text += line(text.empty() ? "evidence:" : "", one_line(clean_text(evidence), kLineBytes));
  return text;
}

// Returns "gdb ./program RUN/evidence/x.1.core (1.5 MiB)"; "" if no core was kept.
std::string core_text(const Attempt* attempt, const std::string& run_dir) {
  if (attempt == nullptr || !attempt->end || attempt->end->evidence.core.file.empty()) return "";
  const CoreInfo& core = attempt->end->evidence.core;
  std::string command = "gdb";
  for (const std::string& word : {core.program, from_here(run_dir, core.file)}) {
    if (!word.empty()) command += ' ' + shell_quote(word);
  }
  constexpr double kMib = 1024 * 1024;
  return fmt::format("{} ({:.1f} MiB)", one_line(clean_text(command), 4 * kLineBytes),
                     static_cast<double>(core.bytes) / kMib);
}

// Adds the locations of an attempt: where it hung or crashed, the line of the failure, the log, the evidence, the rule.
void add_locations(std::string& locations, const Attempt& attempt, const std::string& run_dir) {
  if (attempt.end) {
    const AttemptEnded& end = *attempt.end;
    if (const auto& frame = end.evidence.frame) {
      const std::string function = one_line(clean_text(frame->function), kLineBytes);
      add_location(locations, frame->location.empty() ? function : function + " at " + frame->location);
    }
    if (!end.failures.empty() && !end.failures[0].file.empty()) {
      add_location(locations, fmt::format("{}:{}", end.failures[0].file, end.failures[0].line));
    }
    const bool ran = end.verdict.reason != Reason::kSpawn;  // otherwise its log has no output
    if (ran && !attempt.start.log.empty()) add_location(locations, from_here(run_dir, attempt.start.log));
    if (!end.evidence.file.empty()) add_location(locations, from_here(run_dir, end.evidence.file));
    if (!end.rule.empty()) add_location(locations, "rule " + end.rule);
    if (!end.source.empty()) add_location(locations, end.source);
  } else if (!attempt.start.log.empty()) {
    add_location(locations, from_here(run_dir, attempt.start.log));
  }
}

// A test is not named, because the case id names it.
std::string words_for(const Culprit* culprit, FailureOwner problem) {
  if (culprit == nullptr || culprit->kind == "test") return "";
  const bool is_tested =
      problem == FailureOwner::kCode && (culprit->kind == "driver" || culprit->kind == "library");
  const std::string who = is_tested ? "the stack under test" : "the " + culprit->kind;
  const std::string version = culprit->version.empty() ? "" : " " + culprit->version;
  return one_line(clean_text(fmt::format("{}: {}{}", who, culprit->name, version)), kLineBytes);
}

std::string problem_words(FailureOwner problem, const std::string& culprit) {
  return std::string(to_string(problem)) + (culprit.empty() ? "" : " (" + culprit + ")");
}

}  // namespace

std::vector<CaseFact> facts_of(const ResolvedCase& test) {
  std::vector<CaseFact> facts;
  if (test.by_device != nullptr) facts.push_back({"by_device", "devices", conclusion(*test.by_device)});
  if (test.past != nullptr) facts.push_back({"history", "history", age_text(*test.past)});
  return facts;
}

std::string culprit_text(const ResolvedCase& test) { return words_for(test.culprit.get(), test.problem); }

std::string problem_text(const ResolvedCase& test) {
  if (test.verdict.reason == Reason::kInterrupted) return problem_words(FailureOwner::kNobody, "interrupted");
  return problem_words(test.problem, culprit_text(test));
}

std::string cause_text(const Diagnosis* diagnosis) {
  if (diagnosis == nullptr || diagnosis->where == kWhereOutcome) return "";
  std::string text = fmt::format("{} ({}", diagnosis->error_class, diagnosis->rule);
  for (const std::string& other : diagnosis->others) text += ", also " + other;
  text += ")";
  if (!diagnosis->line.empty()) text += ": " + diagnosis->line;
  return one_line(clean_text(text), 2 * kLineBytes);
}

std::string next_text(const Diagnosis* diagnosis) {
  if (diagnosis == nullptr || diagnosis->error_class == kTestFailure) return "";
  return one_line(clean_text(diagnosis->next), kLineBytes);
}

std::string evidence_location(const ResolvedCase& test, const std::string& run_dir) {
  std::string locations;
  if (const Attempt* attempt = test.telling) add_locations(locations, *attempt, run_dir);
  if (test.end && !test.end->known_failure.empty()) add_location(locations, test.end->known_failure);
  const bool machine = test.problem == FailureOwner::kMachine;
  if (locations.empty() || machine) add_location(locations, next_action(test, run_dir));
  return one_line(clean_text(locations), 4 * kLineBytes);
}

namespace {

// `exec` has no --debugger, one debugger cannot debug several ranks, and not every crash leaves a core.
std::string next_of_crash(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  const bool has_core = attempt != nullptr && attempt->end && !attempt->end->evidence.core.file.empty();
  if (has_core) return "Open its core in a debugger.";
  if (test.planned.ranks > 0)
    return "Rerun it with --timeout 1h --stall off, and attach to a rank: gdb -p PID.";
  return test.of_exec ? "Run the command under `gdb --args`." : "Rerun it with --debugger 'gdb --args'.";
}

// Returns the command, and in the next line the options that it omits.
std::string rerun_text(const ResolvedCase& test) {
  const std::string left_out = test.rerun == nullptr ? "" : test.rerun->left_out;
  return test.rerun_command() + (left_out.empty() ? "" : "\n               without " + left_out);
}

// The parts of a failure summary; "" for a missing part.
struct Answers {
  std::string problem;
  std::string next;
  std::string what;
  std::string evidence;  // several lines
  std::string core;
  std::string rerun;
  std::string where;
};

std::string with_cause(std::string problem, const Diagnosis* diagnosis) {
  const std::string cause = cause_text(diagnosis);
  return cause.empty() ? problem : problem + " · " + cause;
}

// For a case that failed and then passed, the parts describe the failed attempt.
Answers answers_of_flaky(const ResolvedCase& test, const Attempt& bad, const std::string& run_dir) {
  const Diagnosis* diagnosis = bad.end && bad.end->diagnosis ? &*bad.end->diagnosis : nullptr;
  const FailureOwner of_verdict =
      passed_after_retry(bad) ? FailureOwner::kCode : failure_owner(verdict_of(bad));
  const FailureOwner cause = diagnosis != nullptr ? diagnosis->problem : of_verdict;
  std::string locations;
  add_locations(locations, bad, run_dir);
  Answers answers;
  answers.problem = with_cause(
      problem_words(cause,
                    diagnosis != nullptr && diagnosis->culprit ? words_for(&*diagnosis->culprit, cause) : ""),
      diagnosis);
  answers.what = fmt::format("{}: {}", flaky_attempts_text(test), bad.headline);
  answers.rerun = rerun_text(test);
  answers.where = one_line(clean_text(locations), 4 * kLineBytes);
  return answers;
}

Answers answers_of(const ResolvedCase& test, const std::string& run_dir) {
  const Attempt* attempt = test.telling;
  if (test.flaky && attempt != nullptr) return answers_of_flaky(test, *attempt, run_dir);
  const Diagnosis* diagnosis = test.diagnosis;
  const bool is_crash = diagnosis != nullptr && diagnosis->rule == kCrashRule;
  Answers answers;
  answers.problem = with_cause(problem_text(test), diagnosis);
  answers.next = is_crash ? next_of_crash(test) : next_text(diagnosis);
  answers.what = clean_text(readable(test.verdict)) + ": " + test.headline;
  if (const std::string note = note_text(test); !note.empty()) answers.what += "; " + note;
  answers.evidence = evidence_text(test);
  answers.core = core_text(attempt, run_dir);
  answers.rerun = rerun_text(test);
  answers.where = evidence_location(test, run_dir);
  return answers;
}

}  // namespace

std::string note_text(const ResolvedCase& test) {
  return test.end ? both_ends(clean_text(test.end->note), 3 * kLineBytes) : "";
}

std::string flaky_attempts_text(const ResolvedCase& test) {
  const Attempt* bad = test.telling;
  if (bad == nullptr || !test.flaky) return "";
  const std::string was = clean_text(readable(verdict_of(*bad)));
  const std::string is = clean_text(readable(test.verdict));
  if (passed_after_retry(*bad)) return fmt::format("{} only when its framework ran it again", is);
  if (bad->confirmed_alone) return fmt::format("{} in a shared process, {} alone", was, is);
  return fmt::format("{} at attempt {}, {} at the last", was, bad->start.attempt, is);
}

std::string summarize_failure(const ResolvedCase& test, const std::string& run_dir) {
  const Answers answers = answers_of(test, run_dir);
  return line("owner:", answers.problem) + line_if_any("next:", answers.next) +
         line("what:", one_line(answers.what, 4 * kLineBytes)) + line_if_any("on:", test.devices_text) +
         answers.evidence + line_if_any("core:", answers.core) + line("rerun:", answers.rerun) +
         line("where to look:", answers.where);
}

std::string answers_below_message(const ResolvedCase& test, const std::string& run_dir) {
  const Answers answers = answers_of(test, run_dir);
  return line("where to look:", answers.where) + line_if_any("on:", test.devices_text) +
         line("rerun:", answers.rerun) + line("owner:", answers.problem) +
         line_if_any("next:", answers.next) + answers.evidence + line_if_any("core:", answers.core);
}

namespace {

constexpr std::size_t kHeadlineBytes = 200;
constexpr std::size_t kMaxSuspects = 10;  // cases that may have started a leaked process

// Returns the message of the first failure; "" if it has none.
std::string failure_text(const AttemptEnded& end) {
  for (const Failure& failure : end.failures) {
    if (failure.message.find_first_not_of(" \t\r\n") != std::string::npos) return failure.message;
    if (!failure.expected.empty())
      return fmt::format("{}: expected {}, got {}", failure.rule, failure.expected, failure.got);
  }
  return "";
}

// Returns how a command of `exec` reacted to the stop signal.
std::string answer_text(const ResolvedRun& run, const AttemptEnded* end) {
  if (!run.plan.exec || end == nullptr) return "";
  if (end->exit_code) return fmt::format("; it then exited with code {}", *end->exit_code);
  return end->termination.forced ? "; it did not end, and was killed" : "";
}

std::string interrupted_text(const ResolvedRun& run, bool started, const AttemptEnded* end) {
  const std::string verb = started ? "cut short" : "not run";
  if (run.stop_signal != 0) {
    return fmt::format("{}: the run was stopped by {}{}", verb, signal_words(std::to_string(run.stop_signal)),
                       answer_text(run, end));
  }
  if (run.stop) return fmt::format("{}: the run was stopped ({})", verb, run.stop->reason.text());
  return verb + (run.ended ? ": the run ended without it" : ": the runner was killed");
}

// Returns the meaning of a reason, with details of the attempt.
std::string reason_text(const ReasonMeaning& meaning, const Verdict& verdict, bool started,
                        const AttemptEnded* end) {
  std::string text = describe_reason(meaning, verdict.reason);
  if (meaning.reason == Reason::kLeaky && end != nullptr) text += ": " + leak_text(end->termination);
  if (meaning.reason == Reason::kMaskMismatch && end != nullptr && !end->failures.empty())
    text += ": " + end->failures.front().message;
  if (meaning.reason == Reason::kDeviceUnhealthy && started)
    text = "no verdict: its device was found unhealthy after it, and there is no other";
  return text;
}

// Returns the failure without details of the attempt.
std::string verdict_text(const ResolvedRun& run, const ResolvedCase& test, const Verdict& verdict,
                         const AttemptEnded* end) {
  const Outcome outcome = verdict.outcome;
  const ReasonMeaning* meaning = meaning_of_reason(verdict);
  const auto is = [&](Reason reason) { return meaning != nullptr && meaning->reason == reason; };
  if ((outcome == Outcome::kFail && !is(Reason::kLeaky)) || is(Reason::kShutdown)) {
    if (const std::string own = end != nullptr ? failure_text(*end) : ""; !own.empty()) return own;
    if (verdict.reason.empty()) return "failed without a message";
  }
  if (!is_bad(outcome) && end != nullptr && has_mark(end->marks, Mark::kFlaky)) {
    if (const std::string of_try = failure_text(*end); !of_try.empty()) return of_try;
  }
  if (is(Reason::kInterrupted)) return interrupted_text(run, !test.attempts.empty(), end);
  if (meaning != nullptr && !meaning->words.empty())
    return reason_text(*meaning, verdict, !test.attempts.empty(), end);
  if (is(Reason::kShutdown)) return "failed: " + verdict.reason.text();
  if (outcome == Outcome::kTimeout) {
    return fmt::format("still running after {}, its time limit",
                       human_duration(Milliseconds(test.planned.timeout_ms)));
  }
  std::string words(meaning_of(verdict).words);
  const bool says_more = outcome != Outcome::kDeviceLost && outcome != Outcome::kXpass;
  if (says_more && !verdict.reason.empty()) words += ": " + verdict.reason.text();
  return words;
}

// Returns whether the failure is a wait that lasted until the limit. These are the last failures of an attempt
// (harness/runner/attempt/waits.h).
bool is_wait(const Failure& failure) { return failure.message.starts_with("It waited for "); }

std::string describe(const ResolvedRun& run, const ResolvedCase& test, const Verdict& verdict,
                     const Attempt* attempt) {
  const AttemptEnded* end = attempt != nullptr && attempt->end ? &*attempt->end : nullptr;
  std::string text = verdict_text(run, test, verdict, end);
  const bool midway = meaning_of(verdict).midway;
  static const std::vector<Failure> kNone;
  const std::vector<Failure>& failures = end != nullptr ? end->failures : kNone;
  const auto waits = std::find_if(failures.begin(), failures.end(), is_wait);
  if (midway && end != nullptr && !end->ranks.empty() && waits != failures.begin()) {
    text += "; " + std::prev(waits)->message;  // the rank that failed
  } else if (midway && verdict.reason != Reason::kShutdown && end != nullptr && !end->last_step.empty()) {
    text += fmt::format("; last step \"{}\"", end->last_step);
  }
  for (auto wait = waits; midway && wait != failures.end(); ++wait) text += "; " + wait->message;
  return one_line(clean_text(text), kHeadlineBytes);
}

// The headline of a case that failed on one device and passed on another.
std::string suspicion_text(const ResolvedCase& test) {
  const Attempt* bad = test.telling;
  if (bad == nullptr) return "its device is suspect";
  const std::string text = fmt::format("{} on {}{}, and passed on another device; first: {}",
                                       readable(verdict_of(*bad)), fmt::join(bad->start.devices, "+"),
                                       is_suspect(*bad) ? ", which was found unhealthy" : "", bad->headline);
  return one_line(clean_text(text), kHeadlineBytes);
}

}  // namespace

std::string leak_text(const Termination& termination) {
  if (termination.signal_sent != 0 || termination.leaked_processes.empty()) return "";
  std::string text;
  for (const LeakedProcess& leaked : termination.leaked_processes)
    text +=
        fmt::format("{}process {} ({})", text.empty() ? "" : ", ", leaked.pid, clean_text(leaked.command));
  const std::size_t cases = termination.leaked_by.size();
  if (cases == 0) return text;
  text += fmt::format("; by one of the {} cases of its process: ", cases);
  for (std::size_t i = 0; i < std::min(cases, kMaxSuspects); ++i)
    text += (i == 0 ? "" : ", ") + clean_text(termination.leaked_by[i]);
  return cases > kMaxSuspects ? text + ", …" : text;
}

const Attempt* first_bad_attempt(const ResolvedCase& test) {
  for (const Attempt& attempt : test.attempts) {
    if (is_bad(verdict_of(attempt).outcome) && !is_unproven(attempt)) return &attempt;
  }
  const auto retried = std::ranges::find_if(test.attempts, passed_after_retry);
  return retried != test.attempts.end() ? &*retried : nullptr;
}

namespace {

// Returns "xpu:0000:03:00.0 (Intel Arc Pro B60 · 8086:e211)"; "" for an attempt without devices.
std::string devices_text(const RunPlanned& plan, const Attempt* attempt) {
  std::string text;
  for (const std::string& id : attempt != nullptr ? attempt->start.devices : std::vector<std::string>()) {
    const auto device = std::ranges::find(plan.devices, id, &PlannedDevice::id);
    const std::string known = device == plan.devices.end() ? "" : model_text(*device);
    text += (text.empty() ? "" : ", ") + id + (known.empty() ? "" : " (" + known + ")");
  }
  return one_line(clean_text(text), 2 * kHeadlineBytes);
}

}  // namespace

std::string model_text(const PlannedDevice& device) {
  std::string text;
  for (const std::string* part : {&device.name, &device.pci, &device.pci_id, &device.capability}) {
    if (part->empty() || *part == device.id) continue;
    text += (text.empty() ? "" : " · ") + *part;
  }
  return text;
}

void resolve_headlines(const ResolvedRun& run, ResolvedCase& test) {
  for (Attempt& attempt : test.attempts)
    attempt.headline = describe(run, test, verdict_of(attempt), &attempt);
  test.devices_text = devices_text(run.plan, test.telling);
  test.headline = test.moved ? suspicion_text(test) : describe(run, test, test.verdict, test.deciding);
}

}  // namespace proctor
