#include "reports/resolve/headline.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/duration.h"
#include "harness/base/text.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/truncate.h"

namespace proctor {
namespace {

constexpr std::size_t kHeadlineBytes = 200;
constexpr std::size_t kMaxSuspects = 10;  // cases that may have left a process behind

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
std::string verdict_text(const ResolvedRun& run, const ResolvedCase& test, const Verdict& verdict,
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
  if (is(Reason::kInterrupted)) return interrupted_text(run, !test.attempts.empty(), end);
  if (meaning != nullptr && !meaning->words.empty())
    return reason_text(*meaning, verdict, !test.attempts.empty(), end);
  if (is(Reason::kAfterEnd)) return "failed: " + verdict.reason.text();
  if (outcome == Outcome::kTimeout) {
    return fmt::format("still running after {}, its time limit",
                       human_duration(Milliseconds(test.planned.timeout_ms)));
  }
  std::string words(meaning_of(verdict).words);
  const bool says_more = outcome != Outcome::kDeviceLost && outcome != Outcome::kXpass;
  if (says_more && !verdict.reason.empty()) words += ": " + verdict.reason.text();
  return words;
}

// What it waited for until its limit: the last failures of an attempt (harness/runner/attempt/waits.h).
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
    text += "; " + std::prev(waits)->message;  // which rank it was
  } else if (midway && verdict.reason != Reason::kAfterEnd && end != nullptr && !end->last_step.empty()) {
    text += fmt::format("; last step \"{}\"", end->last_step);
  }
  for (auto wait = waits; midway && wait != failures.end(); ++wait) text += "; " + wait->message;
  return one_line(clean_text(text), kHeadlineBytes);
}

// Of a case that was bad on one device and good on another one.
std::string suspicion_text(const ResolvedCase& test) {
  const Attempt* bad = test.telling;
  if (bad == nullptr) return "its device is suspect";
  const std::string text = fmt::format("{} on {}{}, and good on another device; there: {}",
                                       to_string(verdict_of(*bad)), fmt::join(bad->start.devices, "+"),
                                       is_suspect(*bad) ? ", which was found unhealthy" : "", bad->headline);
  return one_line(clean_text(text), kHeadlineBytes);
}

}  // namespace

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

const Attempt* first_bad_attempt(const ResolvedCase& test) {
  for (const Attempt& attempt : test.attempts) {
    if (is_bad(verdict_of(attempt).outcome)) return &attempt;
  }
  const auto retried = std::ranges::find_if(test.attempts, passed_after_retry);
  return retried != test.attempts.end() ? &*retried : nullptr;
}

namespace {

// "xpu:0000:03:00.0 (Intel Arc Pro B60 · 8086:e211)"; "" of an attempt without devices.
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
