#include "reports/model/failure_summary.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "harness/core/duration.h"
#include "harness/core/outcome_meaning.h"
#include "harness/core/text.h"
#include "harness/core/words.h"
#include "reports/model/device_table.h"
#include "reports/model/rerun.h"
#include "reports/model/truncate.h"

namespace proctor {
namespace {

constexpr std::size_t kHeadlineBytes = 200;
constexpr std::size_t kMaxSuspects = 10;  // cases that may have left a process behind
// Of harness/classify/rules.toml: what the outcome alone leads to, and the class that
// says no more than `fail`.
constexpr std::string_view kWhereOutcome = "outcome";
constexpr std::string_view kTestFailure = "test_failure";
constexpr std::string_view kCrashRule = "outcome:crash";

// Of a failure, in its own words; "" if it has none.
std::string failure_text(const AttemptEnded& end) {
  for (const Failure& failure : end.failures) {
    if (failure.message.find_first_not_of(" \t\r\n") != std::string::npos) return failure.message;
    if (!failure.expected.empty())
      return fmt::format("{}: expected {}, got {}", failure.rule, failure.expected, failure.got);
  }
  return "";
}

// How a command of `exec` took it that it was told to end: what it does then is its own.
std::string answer_text(const RunModel& model, const AttemptEnded* end) {
  if (!model.plan().exec || end == nullptr) return "";
  if (end->exit_code) return fmt::format("; it then exited with code {}", *end->exit_code);
  return end->termination.forced ? "; it did not end, and was killed" : "";
}

std::string interrupted_text(const RunModel& model, bool started, const AttemptEnded* end) {
  const std::string verb = started ? "cut short" : "not run";
  if (model.stop_signal() != 0) {
    return fmt::format("{}: the run was stopped by {}{}", verb,
                       signal_words(std::to_string(model.stop_signal())), answer_text(model, end));
  }
  if (model.stop()) return fmt::format("{}: the run was stopped ({})", verb, model.stop()->reason.text());
  return verb + (model.ended() ? ": the run ended without it" : ": the runner was killed");
}

// What a reason means, with what the attempt says of it.
std::string reason_text(const ReasonMeaning& meaning, const Verdict& verdict, bool started,
                        const AttemptEnded* end) {
  std::string text = words_of_reason(meaning, verdict.reason);
  if (meaning.reason == Reason::kLeaky && end != nullptr) text += ": " + leak_text(end->termination);
  if (meaning.reason == Reason::kMaskMismatch && end != nullptr && !end->failures.empty())
    text += ": " + end->failures.front().message;
  if (meaning.reason == Reason::kDeviceUnhealthy && started)
    text = "no verdict: its device was found unhealthy after it, and there is no other";
  return text;
}

// What happened, without details of the attempt.
std::string verdict_text(const RunModel& model, const CaseRecord& record, const Verdict& verdict,
                         const AttemptEnded* end) {
  const Outcome outcome = verdict.outcome;
  const ReasonMeaning* meaning = meaning_of_reason(verdict);
  const auto is = [&](Reason reason) { return meaning != nullptr && meaning->reason == reason; };
  if ((outcome == Outcome::kFail && !is(Reason::kLeaky)) || is(Reason::kAfterEnd)) {
    if (const std::string own = end != nullptr ? failure_text(*end) : ""; !own.empty()) return own;
    if (verdict.reason.empty()) return "failed without a message";
  }
  if (!is_bad(outcome) && end != nullptr && has_mark(end->marks, Mark::kFlaky)) {
    if (const std::string of_try = failure_text(*end); !of_try.empty()) return of_try;
  }
  if (is(Reason::kInterrupted)) return interrupted_text(model, !record.attempts.empty(), end);
  if (meaning != nullptr && !meaning->words.empty())
    return reason_text(*meaning, verdict, !record.attempts.empty(), end);
  if (is(Reason::kAfterEnd)) return "failed: " + verdict.reason.text();
  if (outcome == Outcome::kTimeout) {
    return fmt::format("still running after {}, its time limit",
                       human_duration(Milliseconds(record.planned.timeout_ms)));
  }
  std::string words(meaning_of(verdict).words);
  const bool says_more = outcome != Outcome::kDeviceLost && outcome != Outcome::kXpass;
  if (says_more && !verdict.reason.empty()) words += ": " + verdict.reason.text();
  return words;
}

// What it waited for until its limit: the last failures of an attempt (harness/run/attempt/waits.h).
bool is_wait(const Failure& failure) { return failure.message.starts_with("It waited for "); }

std::string describe(const RunModel& model, const CaseRecord& record, const Verdict& verdict,
                     const Attempt* attempt) {
  const AttemptEnded* end = attempt != nullptr && attempt->end ? &*attempt->end : nullptr;
  std::string text = verdict_text(model, record, verdict, end);
  const bool midway = meaning_of(verdict).midway;
  const std::vector<Failure> failures = end != nullptr ? end->failures : std::vector<Failure>();
  const auto waits = std::find_if(failures.begin(), failures.end(), is_wait);
  if (midway && end != nullptr && !end->ranks.empty() && waits != failures.begin()) {
    text += "; " + std::prev(waits)->message;  // which rank it was
  } else if (midway && verdict.reason != Reason::kAfterEnd && end != nullptr && !end->last_step.empty()) {
    text += fmt::format("; last step \"{}\"", end->last_step);
  }
  for (auto wait = waits; midway && wait != failures.end(); ++wait) text += "; " + wait->message;
  return one_line(clean_text(text), kHeadlineBytes);
}

// Or else the first in which the framework ran the case again after a failure.
const Attempt* first_bad_attempt(const CaseRecord& record) {
  for (const Attempt& attempt : record.attempts) {
    if (is_bad(verdict_of(attempt).outcome)) return &attempt;
  }
  const auto retried = std::ranges::find_if(record.attempts, passed_after_retry);
  return retried != record.attempts.end() ? &*retried : nullptr;
}

// Of a case that was bad on one device and good on another one.
std::string suspicion_text(const RunModel& model, const CaseRecord& record) {
  const Attempt* bad = first_bad_attempt(record);
  if (bad == nullptr) return "its device is suspect";
  const Verdict verdict = verdict_of(*bad);
  const std::string text =
      fmt::format("{} on {}{}, and good on another device; there: {}", to_string(verdict),
                  fmt::join(bad->start.devices, "+"), is_suspect(*bad) ? ", which was found unhealthy" : "",
                  describe(model, record, verdict, bad));
  return one_line(clean_text(text), kHeadlineBytes);
}

void add_location(std::string& locations, const std::string& location) {
  if (!locations.empty()) locations += " · ";
  locations += location;
}

// "logs/x.log" of a run directory, from where the reader stands.
std::string from_here(const std::string& run_dir, const std::string& file) {
  return run_dir.empty() ? file : (std::filesystem::path(run_dir) / file).string();
}

// For outcomes that have neither a source line nor a log.
std::string next_action(const RunModel& model, const CaseRecord& record, const std::string& run_dir) {
  const Verdict verdict = model.verdict(record);
  if (verdict.reason == Reason::kSpawn) {
    return model.plan().exec ? "the command, and PATH" : "the command of the suite in its config, and PATH";
  }
  if (verdict.reason == Reason::kDiscovery) return "the listing command, started by hand";
  switch (blame_in(model, record)) {
    case Blame::kMachine:  // where nothing was tried, the kernel has nothing to tell of it
      return record.attempts.empty() ? "proctor doctor" : "proctor doctor, and the kernel log (dmesg)";
    case Blame::kSetup:
      return "the limits of the run: --deadline, --fail-fast, and what stopped it";
    case Blame::kCode:
    case Blame::kNobody:
      break;
  }
  return from_here(run_dir, "journal.jsonl");
}

// What its processes did when the limit was hit, at most ten lines.
std::string evidence_text(const RunModel& model, const CaseRecord& record) {
  const Attempt* attempt = deciding_attempt(record, model.verdict(record));
  std::string text;
  if (attempt == nullptr || !attempt->end) return text;
  for (const std::string& line : attempt->end->evidence.lines) {
    text +=
        fmt::format("{:15}{}\n", text.empty() ? "evidence:" : "", one_line(clean_text(line), kHeadlineBytes));
  }
  return text;
}

// "core:          gdb ./program RUN/evidence/x.1.core", or "" when none was kept.
std::string core_line(const Attempt* attempt, const std::string& run_dir) {
  if (attempt == nullptr || !attempt->end || attempt->end->evidence.core.file.empty()) return "";
  const CoreInfo& core = attempt->end->evidence.core;
  std::string command = "gdb";
  for (const std::string& word : {core.program, from_here(run_dir, core.file)}) {
    if (!word.empty()) command += ' ' + shell_quote(word);
  }
  constexpr double kMib = 1024 * 1024;
  return fmt::format("core:          {} ({:.1f} MiB)\n", one_line(clean_text(command), 4 * kHeadlineBytes),
                     static_cast<double>(core.bytes) / kMib);
}

// Of an attempt: where it hung or crashed, the line of what failed, the log, the evidence, the rule.
void add_locations(std::string& locations, const Attempt& attempt, const std::string& run_dir) {
  if (attempt.end) {
    const AttemptEnded& end = *attempt.end;
    if (const auto& frame = end.evidence.frame) {
      const std::string function = one_line(clean_text(frame->function), kHeadlineBytes);
      add_location(locations, frame->location.empty() ? function : function + " at " + frame->location);
    }
    if (!end.failures.empty() && !end.failures[0].file.empty()) {
      add_location(locations, fmt::format("{}:{}", end.failures[0].file, end.failures[0].line));
    }
    const bool ran = end.verdict.reason != Reason::kSpawn;  // else its log says that there is no output
    if (ran && !attempt.start.log.empty()) add_location(locations, from_here(run_dir, attempt.start.log));
    if (!end.evidence.file.empty()) add_location(locations, from_here(run_dir, end.evidence.file));
    if (!end.rule.empty()) add_location(locations, "rule " + end.rule);
    if (!end.source.empty()) add_location(locations, end.source);
  } else if (!attempt.start.log.empty()) {
    add_location(locations, from_here(run_dir, attempt.start.log));
  }
}

}  // namespace

const Diagnosis* diagnosis_of(const RunModel& model, const CaseRecord& record) {
  const Verdict verdict = model.verdict(record);
  const Attempt* attempt = deciding_attempt(record, verdict);
  const bool shows = attempt != nullptr && attempt->end && attempt->end->verdict == verdict;
  return shows && attempt->end->diagnosis ? &*attempt->end->diagnosis : nullptr;
}

bool is_good_elsewhere(const RunModel& model, const CaseRecord& record) {
  return !model.is_bad(record) && model.has_mark(record, Mark::kDeviceSuspect);
}

std::string model_text(const PlannedDevice& device) {
  std::string text;
  for (const std::string* part : {&device.name, &device.pci, &device.pci_id, &device.capability}) {
    if (part->empty() || *part == device.id) continue;
    text += (text.empty() ? "" : " · ") + *part;
  }
  return text;
}

bool is_flaky(const RunModel& model, const CaseRecord& record) {
  return !model.is_bad(record) && model.has_mark(record, Mark::kFlaky);
}

Blame blame_in(const RunModel& model, const CaseRecord& record) {
  if (is_good_elsewhere(model, record)) return Blame::kMachine;
  // `exec` starts its command once, so that its verdict may be that of an attempt on a sick device.
  const Attempt* attempt = deciding_attempt(record, model.verdict(record));
  if (model.plan().exec && attempt != nullptr && is_suspect(*attempt)) return Blame::kMachine;
  if (model.plan().each_device && is_fault_of_devices(record)) return Blame::kMachine;
  if (const Diagnosis* diagnosis = diagnosis_of(model, record)) return diagnosis->problem;
  const Verdict verdict = model.verdict(record);
  if (verdict.outcome == Outcome::kXpass && !model.is_bad(record)) return Blame::kNobody;
  // A command of `exec` that was not started got no device: a skip for a suite, but not for its caller.
  const bool kept_out = model.plan().exec && verdict.outcome == Outcome::kSkip;
  return kept_out ? Blame::kMachine : blame_of(verdict);
}

namespace {

// The device of an attempt that was found unhealthy, or on which alone a case is bad.
std::optional<Culprit> its_device(const RunModel& model, const Attempt* attempt) {
  if (attempt == nullptr || attempt->start.devices.size() != 1) return std::nullopt;
  const std::string& id = attempt->start.devices.front();
  const auto& devices = model.plan().devices;
  const auto device = std::ranges::find(devices, id, &PlannedDevice::id);
  const bool has_name = device != devices.end() && !device->name.empty();
  return Culprit{.kind = "device", .name = has_name ? device->name : id};
}

// A test is not named: the id of its case does it.
std::string words_for(const std::optional<Culprit>& culprit, Blame problem) {
  if (!culprit || culprit->kind == "test") return "";
  const bool is_tested = problem == Blame::kCode && (culprit->kind == "driver" || culprit->kind == "library");
  const std::string who = is_tested ? "the stack under test" : "the " + culprit->kind;
  const std::string version = culprit->version.empty() ? "" : " " + culprit->version;
  return one_line(clean_text(fmt::format("{}: {}{}", who, culprit->name, version)), kHeadlineBytes);
}

std::string problem_words(Blame problem, const std::string& culprit) {
  return std::string(to_string(problem)) + (culprit.empty() ? "" : " (" + culprit + ")");
}

}  // namespace

std::optional<Culprit> culprit_in(const RunModel& model, const CaseRecord& record) {
  const Blame blame = blame_in(model, record);
  const Diagnosis* diagnosis = diagnosis_of(model, record);
  if (diagnosis != nullptr && diagnosis->problem == blame && !is_good_elsewhere(model, record))
    return diagnosis->culprit;
  const Attempt* telling = telling_attempt(model, record);
  const bool by_device = is_good_elsewhere(model, record) || (telling != nullptr && is_suspect(*telling)) ||
                         (model.plan().each_device && is_fault_of_devices(record));
  return blame == Blame::kMachine && by_device ? its_device(model, telling) : std::nullopt;
}

std::string culprit_text(const RunModel& model, const CaseRecord& record) {
  return words_for(culprit_in(model, record), blame_in(model, record));
}

std::string problem_text(const RunModel& model, const CaseRecord& record) {
  if (model.verdict(record).reason == Reason::kInterrupted)
    return problem_words(Blame::kNobody, "interrupted");
  return problem_words(blame_in(model, record), culprit_text(model, record));
}

std::string leak_text(const Termination& termination) {
  if (termination.signal_sent != 0 || termination.strays.empty()) return "";
  std::string text;
  for (const Stray& stray : termination.strays)
    text += fmt::format("{}process {} ({})", text.empty() ? "" : ", ", stray.pid, clean_text(stray.command));
  const std::size_t cases = termination.left_by.size();
  if (cases == 0) return text;
  text += fmt::format("; by one of the {} cases of its process: ", cases);
  for (std::size_t i = 0; i < std::min(cases, kMaxSuspects); ++i)
    text += (i == 0 ? "" : ", ") + clean_text(termination.left_by[i]);
  return cases > kMaxSuspects ? text + ", …" : text;
}

std::string cause_text(const Diagnosis* diagnosis) {
  if (diagnosis == nullptr || diagnosis->where == kWhereOutcome) return "";
  std::string text = fmt::format("{} ({}", diagnosis->error_class, diagnosis->rule);
  for (const std::string& other : diagnosis->others) text += ", also " + other;
  text += ")";
  if (!diagnosis->line.empty()) text += ": " + diagnosis->line;
  return one_line(clean_text(text), 2 * kHeadlineBytes);
}

std::string next_text(const Diagnosis* diagnosis) {
  if (diagnosis == nullptr || diagnosis->error_class == kTestFailure) return "";
  return one_line(clean_text(diagnosis->next), kHeadlineBytes);
}

std::string headline(const RunModel& model, const CaseRecord& record) {
  const Verdict verdict = model.verdict(record);
  if (is_good_elsewhere(model, record)) return suspicion_text(model, record);
  return describe(model, record, verdict, deciding_attempt(record, verdict));
}

std::string headline(const RunModel& model, const CaseRecord& record, const Attempt& attempt) {
  return describe(model, record, verdict_of(attempt), &attempt);
}

const Attempt* telling_attempt(const RunModel& model, const CaseRecord& record) {
  return is_good_elsewhere(model, record) || is_flaky(model, record)
             ? first_bad_attempt(record)
             : deciding_attempt(record, model.verdict(record));
}

std::string where_to_look(const RunModel& model, const CaseRecord& record, const std::string& run_dir) {
  std::string locations;
  if (const Attempt* attempt = telling_attempt(model, record)) add_locations(locations, *attempt, run_dir);
  if (record.end && !record.end->known_failure.empty()) add_location(locations, record.end->known_failure);
  const bool machine = blame_in(model, record) == Blame::kMachine;
  if (locations.empty() || machine) add_location(locations, next_action(model, record, run_dir));
  return one_line(clean_text(locations), 4 * kHeadlineBytes);
}

namespace {

// "on:            xpu:0000:03:00.0 (Intel Arc Pro B60 · 8086:e211)", or "" for an attempt without devices.
std::string devices_line(const RunModel& model, const Attempt* attempt) {
  std::string text;
  for (const std::string& id : attempt != nullptr ? attempt->start.devices : std::vector<std::string>()) {
    const auto& devices = model.plan().devices;
    const auto device = std::ranges::find(devices, id, &PlannedDevice::id);
    const std::string known = device == devices.end() ? "" : model_text(*device);
    text += (text.empty() ? "" : ", ") + id + (known.empty() ? "" : " (" + known + ")");
  }
  return text.empty() ? ""
                      : fmt::format("on:            {}\n", one_line(clean_text(text), 2 * kHeadlineBytes));
}

// `exec` has no --debugger, one debugger cannot have several ranks, and not every crash leaves a core.
std::string next_of_crash(const RunModel& model, const CaseRecord& record) {
  const Attempt* attempt = telling_attempt(model, record);
  const bool has_core = attempt != nullptr && attempt->end && !attempt->end->evidence.core.file.empty();
  if (has_core) return "Open its core in a debugger.";
  if (record.planned.ranks > 0)
    return "Rerun it with --timeout 1h --stall off, and attach to a rank: gdb -p PID.";
  return model.plan().exec ? "Run the command under `gdb --args`." : "Rerun it with --debugger 'gdb --args'.";
}

// With what it leaves out below it.
std::string rerun_text(const RunModel& model, const CaseRecord& record) {
  if (fails_only_after_others(record)) return rerun_command(model, record);
  const RerunCommand again = rerun_of(model, {record.planned.id});
  std::string text = command_text(again, model.plan().directory);
  if (!again.left_out.empty()) text += "\n               without " + joined(again.left_out, ", ");
  return text;
}

// Each answer of one case; "" where there is none.
struct Answers {
  std::string problem;
  std::string next;
  std::string what;
  std::string devices;   // a line
  std::string evidence;  // lines
  std::string core;      // a line
  std::string rerun;
  std::string where;
};

std::string with_cause(std::string problem, const Diagnosis* diagnosis) {
  const std::string cause = cause_text(diagnosis);
  return cause.empty() ? problem : problem + " · " + cause;
}

// Of a case that was bad first and then good: the bad attempt answers.
Answers answers_of_flaky(const RunModel& model, const CaseRecord& record, const Attempt& bad,
                         const std::string& run_dir) {
  const Diagnosis* diagnosis = bad.end && bad.end->diagnosis ? &*bad.end->diagnosis : nullptr;
  const Blame of_verdict = passed_after_retry(bad) ? Blame::kCode : blame_of(verdict_of(bad));
  const Blame blame = diagnosis != nullptr ? diagnosis->problem : of_verdict;
  std::string locations;
  add_locations(locations, bad, run_dir);
  Answers answers;
  answers.problem = with_cause(
      problem_words(blame, diagnosis != nullptr ? words_for(diagnosis->culprit, blame) : ""), diagnosis);
  answers.what = fmt::format("{}: {}", flaky_attempts_text(model, record),
                             describe(model, record, verdict_of(bad), &bad));
  answers.devices = devices_line(model, &bad);
  answers.rerun = rerun_text(model, record);
  answers.where = one_line(clean_text(locations), 4 * kHeadlineBytes);
  return answers;
}

Answers answers_of(const RunModel& model, const CaseRecord& record, const std::string& run_dir) {
  const Attempt* attempt = telling_attempt(model, record);
  if (is_flaky(model, record) && attempt != nullptr)
    return answers_of_flaky(model, record, *attempt, run_dir);
  const Diagnosis* diagnosis = diagnosis_of(model, record);
  const bool is_crash = diagnosis != nullptr && diagnosis->rule == kCrashRule;
  Answers answers;
  answers.problem = with_cause(problem_text(model, record), diagnosis);
  answers.next = is_crash ? next_of_crash(model, record) : next_text(diagnosis);
  answers.what = clean_text(to_string(model.verdict(record))) + ": " + headline(model, record);
  if (const std::string note = note_text(record); !note.empty()) answers.what += "; " + note;
  answers.devices = devices_line(model, attempt);
  answers.evidence = evidence_text(model, record);
  answers.core = core_line(attempt, run_dir);
  answers.rerun = rerun_text(model, record);
  answers.where = where_to_look(model, record, run_dir);
  return answers;
}

std::string next_line(const Answers& answers) {
  return answers.next.empty() ? "" : fmt::format("next:          {}\n", answers.next);
}

}  // namespace

std::string note_text(const CaseRecord& record) {
  return record.end ? both_ends(clean_text(record.end->note), 3 * kHeadlineBytes) : "";
}

std::string flaky_attempts_text(const RunModel& model, const CaseRecord& record) {
  const Attempt* bad = first_bad_attempt(record);
  if (bad == nullptr || !is_flaky(model, record)) return "";
  const std::string was = clean_text(to_string(verdict_of(*bad)));
  const std::string is = clean_text(to_string(model.verdict(record)));
  if (passed_after_retry(*bad)) return fmt::format("{} only when its framework ran it again", is);
  if (bad->confirmed_alone) return fmt::format("{} in a shared process, {} alone", was, is);
  return fmt::format("{} at attempt {}, {} at the last", was, bad->start.attempt, is);
}

std::string summarize_failure(const RunModel& model, const CaseRecord& record, const std::string& run_dir) {
  const Answers answers = answers_of(model, record, run_dir);
  return fmt::format("whose problem: {}\n{}what:          {}\n{}{}{}rerun:         {}\nwhere to look: {}\n",
                     answers.problem, next_line(answers), one_line(answers.what, 4 * kHeadlineBytes),
                     answers.devices, answers.evidence, answers.core, answers.rerun, answers.where);
}

std::string answers_below_message(const RunModel& model, const CaseRecord& record,
                                  const std::string& run_dir) {
  const Answers answers = answers_of(model, record, run_dir);
  return fmt::format("where to look: {}\n{}rerun:         {}\nwhose problem: {}\n{}{}{}", answers.where,
                     answers.devices, answers.rerun, answers.problem, next_line(answers), answers.evidence,
                     answers.core);
}

}  // namespace proctor
