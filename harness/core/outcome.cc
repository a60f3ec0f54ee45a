#include "harness/core/outcome.h"

#include <algorithm>
#include <utility>

namespace proctor {
namespace {

// Errors that another machine would have as well.
constexpr std::array<std::string_view, 7> kErrorsAnywhere = {
    "no_result", "result_mismatch", "protocol", "discovery", "spawn:ENOENT", "spawn:EACCES", "spawn:ENOEXEC"};

}  // namespace

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
  if (!verdict.reason.empty()) text += "(" + verdict.reason + ")";
  return text;
}

Blame blame_of(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kPass:
    case Outcome::kSkip:
    case Outcome::kXfail:
      return Blame::kNobody;
    case Outcome::kFail:
      return verdict.reason == "setup" ? Blame::kSetup : Blame::kCode;
    case Outcome::kTimeout:
    case Outcome::kStall:
      return is_machine_outcome(verdict) ? Blame::kMachine : Blame::kCode;
    case Outcome::kXpass:
      return Blame::kCode;
    case Outcome::kCrash:
      return verdict.reason == "oom_host" ? Blame::kMachine : Blame::kCode;
    case Outcome::kError:
      if (is_machine_outcome(verdict)) return Blame::kMachine;
      return verdict.reason.starts_with("spawn:") ? Blame::kSetup : Blame::kCode;
    case Outcome::kDeviceLost:
      return Blame::kMachine;
    case Outcome::kNotrun:
      return is_machine_outcome(verdict) ? Blame::kMachine : Blame::kSetup;
  }
  return Blame::kMachine;
}

std::string_view to_string(Blame blame) {
  switch (blame) {
    case Blame::kNobody:
      return "nobody";
    case Blame::kCode:
      return "code";
    case Blame::kMachine:
      return "machine";
    case Blame::kSetup:
      return "set-up";
  }
  return "?";
}

bool is_machine_outcome(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kError:
      return std::find(kErrorsAnywhere.begin(), kErrorsAnywhere.end(), verdict.reason) ==
             kErrorsAnywhere.end();
    case Outcome::kDeviceLost:
      return true;
    case Outcome::kNotrun:
      return verdict.reason == "device_lost" || verdict.reason == "device_sick" ||
             verdict.reason == "breaker";
    case Outcome::kTimeout:
    case Outcome::kStall:
      return verdict.reason == kStarved;
    case Outcome::kPass:
    case Outcome::kFail:
    case Outcome::kCrash:
    case Outcome::kSkip:
    case Outcome::kXfail:
    case Outcome::kXpass:
      return false;
  }
  return false;
}

std::optional<Blame> parse_blame(std::string_view text) {
  for (const Blame blame : {Blame::kNobody, Blame::kCode, Blame::kMachine, Blame::kSetup}) {
    if (to_string(blame) == text) return blame;
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

}  // namespace proctor
