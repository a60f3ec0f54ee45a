#include "harness/selftest/kill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "harness/base/json.h"
#include "harness/base/regular_file.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

bool is_fault_of(const Firing& firing, const FaultedCase& run) { return firing.fault == run.fault; }

bool fired_after_set_up(const FaultedCase& run) {
  return run.set_up_ns != 0 && std::any_of(run.firings.begin(), run.firings.end(), [&](const Firing& firing) {
           return is_fault_of(firing, run) && firing.t_ns >= run.set_up_ns;
         });
}

bool fired_before_failure(const FaultedCase& run) {
  return std::any_of(run.firings.begin(), run.firings.end(), [&](const Firing& firing) {
    return is_fault_of(firing, run) && firing.t_ns >= run.set_up_ns &&
           (run.first_failure_ns == 0 || firing.t_ns <= run.first_failure_ns);
  });
}

bool ended_as_expected(const FaultedCase& run) {
  const Outcome outcome = run.verdict.outcome;
  if (run.expects == "hang") return outcome == Outcome::kTimeout || outcome == Outcome::kStall;
  if (run.expects == "abort") return outcome == Outcome::kCrash;
  if (run.expects == "mismatch")
    return outcome == Outcome::kError && run.verdict.reason == Reason::kMaskMismatch;
  if (run.expects != "lost") return false;
  return outcome == Outcome::kDeviceLost ||
         (outcome == Outcome::kFail && run.verdict.reason == Reason::kDeviceLost);
}

// Returns the first failure with the check's rule, or null.
const Failure* failure_of_rule(const FaultedCase& run) {
  for (const Failure& failure : run.failures) {
    if (!run.rule.empty() && failure.rule == run.rule) return &failure;
  }
  return nullptr;
}

std::string text_of(const Failure& failure) {
  std::string text = failure.message;
  if (!failure.expected.empty() || !failure.got.empty()) {
    text += "; expected " + failure.expected + ", got " + failure.got;
  }
  return text;
}

}  // namespace

KillResult judge_kill(const FaultedCase& run) {
  KillResult kill;
  kill.fired = fired_after_set_up(run);
  if (!kill.fired) {
    const bool at_all = std::any_of(run.firings.begin(), run.firings.end(),
                                    [&](const Firing& firing) { return is_fault_of(firing, run); });
    kill.message = at_all ? "the fault fired only in the check's setup" : "the fault never fired";
    return kill;
  }
  if (ended_as_expected(run)) {
    kill.killed = true;
    kill.message = "ended as the check expects: " + to_string(run.verdict);
    return kill;
  }
  if (run.verdict.outcome == Outcome::kPass) {
    kill.message = "survived";
    return kill;
  }
  if (run.verdict.outcome != Outcome::kFail) {
    kill.message = to_string(run.verdict) + " does not count as a kill";
    return kill;
  }
  const Failure* failure = failure_of_rule(run);
  if (failure == nullptr) {
    kill.message = "no failed assertion carries rule " + run.rule;
    return kill;
  }
  kill.killed = fired_before_failure(run);
  kill.message =
      kill.killed ? text_of(*failure) : "the check failed before the fault fired: " + text_of(*failure);
  return kill;
}

constexpr std::uint64_t kMostLog = std::uint64_t{256} << 20;

Result<std::vector<Firing>> parse_fault_log(std::string_view text) {
  std::vector<Firing> firings;
  for (std::size_t from = 0, number = 1; from < text.size(); ++number) {
    const auto newline = text.find('\n', from);
    if (newline == std::string_view::npos) break;
    const auto line = text.substr(from, newline - from);
    const auto record = parse_json(line);
    const auto fault = record.is_object() ? record.find("fault") : record.end();
    const auto time = record.is_object() ? record.find("t_ns") : record.end();
    if (fault == record.end() || !fault->is_string() || time == record.end() || !time->is_number_integer()) {
      return Error::internal(fmt::format("read line {} of the simulator's fault log: {}", number,
                                         clean_text(line.substr(0, 200))));
    }
    firings.push_back({fault->get<std::string>(), time->get<std::int64_t>()});
    from = newline + 1;
  }
  return firings;
}

Result<std::vector<Firing>> read_fault_log(const std::string& path) {
  const auto text = read_regular(path, kMostLog);
  if (text) return parse_fault_log(*text);
  if (text.error().sys_errno == ENOENT) return std::vector<Firing>{};
  return text.error();
}

}  // namespace proctor
