#include "harness/journal/outcome.h"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/journal/event_words.h"

namespace proctor {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kFail:
      return "fail";
    case Outcome::kError:
      return "error";
    case Outcome::kTimeout:
      return "timeout";
    case Outcome::kStall:
      return "stall";
    case Outcome::kCrash:
      return "crash";
    case Outcome::kDeviceLost:
      return "device_lost";
    case Outcome::kSkip:
      return "skip";
    case Outcome::kXfail:
      return "xfail";
    case Outcome::kXpass:
      return "xpass";
    case Outcome::kNotrun:
      return "notrun";
  }
  return "?";
}

std::optional<Outcome> parse_outcome(std::string_view text) {
  for (Outcome outcome : kAllOutcomes) {
    if (to_string(outcome) == text) return outcome;
  }
  return std::nullopt;
}

std::string to_string(const Verdict& verdict) {
  std::string text(to_string(verdict.outcome));
  if (!verdict.reason.empty()) text += "(" + verdict.reason.text() + ")";
  return text;
}

std::string readable(const Verdict& verdict) {
  const std::string reason = readable_reason(verdict);
  return std::string(to_string(verdict.outcome)) + (reason.empty() ? "" : " · " + reason);
}

FailureOwner failure_owner(const Verdict& verdict) {
  if (const ReasonMeaning* meaning = meaning_of_reason(verdict)) return meaning->problem;
  switch (verdict.outcome) {
    case Outcome::kPass:
    case Outcome::kSkip:
    case Outcome::kXfail:
      return FailureOwner::kNobody;
    case Outcome::kFail:
    case Outcome::kTimeout:
    case Outcome::kStall:
    case Outcome::kXpass:
    case Outcome::kCrash:
      return FailureOwner::kCode;
    case Outcome::kError:
    case Outcome::kDeviceLost:
      return FailureOwner::kMachine;
    case Outcome::kNotrun:
      return FailureOwner::kSetup;
  }
  return FailureOwner::kMachine;
}

std::string_view to_string(FailureOwner owner) {
  switch (owner) {
    case FailureOwner::kNobody:
      return "none";
    case FailureOwner::kCode:
      return "code";
    case FailureOwner::kMachine:
      return "machine";
    case FailureOwner::kSetup:
      return "setup";
  }
  return "?";
}

bool is_device_lost(const Verdict& verdict) {
  return verdict.outcome == Outcome::kNotrun &&
         (verdict.reason == Reason::kDeviceUnhealthy || verdict.reason == Reason::kDeviceLost);
}

bool is_machine_outcome(const Verdict& verdict) {
  if (const ReasonMeaning* meaning = meaning_of_reason(verdict)) return meaning->machine;
  return verdict.outcome == Outcome::kError || verdict.outcome == Outcome::kDeviceLost;
}

std::optional<FailureOwner> parse_failure_owner(std::string_view text) {
  for (const FailureOwner owner :
       {FailureOwner::kNobody, FailureOwner::kCode, FailureOwner::kMachine, FailureOwner::kSetup}) {
    if (to_string(owner) == text) return owner;
  }
  return std::nullopt;
}

bool is_bad(Outcome outcome) {
  return outcome != Outcome::kPass && outcome != Outcome::kSkip && outcome != Outcome::kXfail &&
         outcome != Outcome::kXpass;
}

bool is_bad(Outcome outcome, std::string_view kind) {
  return is_bad(outcome) || (outcome == Outcome::kXpass && kind == "proctor");
}

namespace {

struct StopRow {
  StopCause known;
  std::string_view spelling;
  Reason rest;
};

constexpr auto kStops = std::to_array<StopRow>({
    {StopCause::kSignal, "signal", Reason::kInterrupted},
    {StopCause::kParentDied, "parent_died", Reason::kInterrupted},
    {StopCause::kDeadline, "deadline", Reason::kRunLimit},
    {StopCause::kFailFast, "fail_fast", Reason::kFailFast},
    {StopCause::kMachineFailures, "machine_failures", Reason::kMachineFailures},
    {StopCause::kJournal, "journal", Reason::kRunLimit},
});

static_assert(is_whole(kStops, kStopCauses));

}  // namespace

std::string_view to_string(StopCause cause) { return kStops[static_cast<std::size_t>(cause)].spelling; }

ReasonText reason_of_rest(const StopWord& cause) {
  const auto* row = std::ranges::find(kStops, cause.text(), &StopRow::spelling);
  if (row != kStops.end()) return row->rest;
  return cause == StopWord() ? Reason::kInterrupted : reason_in_words(cause.text());
}

}  // namespace proctor
