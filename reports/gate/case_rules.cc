// The rules about the cases of a cell: their outcomes, and which of their failures are known.
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/gate/gate_rules.h"
#include "reports/resolve/report_text.h"

namespace proctor::judging {
namespace {

constexpr std::size_t kShownIds = 20;

// Returns whether the device and the stack of the attempt match the entry.
bool holds_on(const GateKnownFailure& entry, const Attempt& attempt) {
  const auto is_named = [&](const PlannedDevice* device) { return glob_match(entry.device, device->name); };
  if (!entry.device.empty() && std::ranges::none_of(attempt.devices(), is_named)) return false;
  if (entry.driver.empty()) return true;
  for (const auto& [name, value] : attempt.common->stack) {
    if (name != entry.driver) continue;
    const auto version = Version::parse(value);
    return version && entry.versions.contains(*version);
  }
  return false;
}

bool explains(const GateKnownFailure& entry, const Attempt& attempt) {
  static const Verdict kRetried{Outcome::kFail, {}};
  const Verdict& its = passed_after_retry(attempt) ? kRetried : verdict_of(attempt);
  if (its.outcome == Outcome::kPass) return true;  // whichever failure was known
  const bool by_marker =
      its.outcome == Outcome::kXfail;  // a framework's marker does not state the kind of the failure
  return (by_marker || its.outcome == entry.outcome) && glob_match(entry.reason, its.reason.text());
}

// Fails the rule if any case satisfies `is`. `words` completes "3 cases ".
template <typename Is>
void no_case(const CellView& view, GateFinding& finding, const std::string& words, const Is& is) {
  std::map<std::string, int> verdicts;
  view.for_each_case([&](const ResolvedCase& test) {
    if (!is(test)) return;
    finding.cases.push_back(test.planned.id);
    ++verdicts[to_string(test.verdict)];
  });
  finding.limit = "0 cases";
  finding.value = count_text(finding.cases.size(), "case");
  if (finding.cases.empty()) return;
  std::string kinds;
  for (const auto& [verdict, count] : verdicts)
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, verdict);
  fail_rule(finding, fmt::format("{} {}: {}", finding.value, words, kinds));
}

void failed_rule(const CellView& view, GateFinding& finding) {
  no_case(view, finding, "failed", [](const ResolvedCase& test) {
    return gate_result_of(test) == GateResult::kFails && test.verdict.outcome != Outcome::kNotrun &&
           test.verdict.outcome != Outcome::kXpass;
  });
  if (!view.all.inputs.baseline || finding.held) return;
  const GateBaseline& baseline = *view.all.inputs.baseline;
  Texts newly;
  Texts before;
  for (const std::string& id : finding.cases) {
    (baseline.failed.contains(id) ? before : newly).push_back(id);
  }
  if (!newly.empty())
    fail_rule(finding,
              fmt::format("failed newly, and not in {}: {}", baseline.name, some_of(newly, kShownIds)));
  if (!before.empty())
    fail_rule(finding, fmt::format("failed before, in {}: {}", baseline.name, some_of(before, kShownIds)));
}

bool was_unkillable(const ResolvedCase& test) {
  return std::ranges::any_of(test.attempts, [](const Attempt& attempt) {
    return attempt.end && attempt.end->termination.unkillable;
  });
}

void machine_rule(const CellView& view, GateFinding& finding) {
  no_case(view, finding, "hit a machine problem, which counts as not run", [](const ResolvedCase& test) {
    return gate_result_of(test) == GateResult::kMissing || has_mark(test.marks, Mark::kDeviceSuspect) ||
           was_unkillable(test);
  });
  for (const GateReport* report : view.reports) {
    for (const Warning& warning : report->run.warnings) {
      if (is_machine_warning(warning.code) && warning.code != WarningCode::kStackChanged)
        fail_rule(finding,
                  fmt::format("{}: {}: {}", report->name(), warning.code.text(), clean_text(warning.text)));
    }
    for (const DeviceHealth& health : report->run.health) {
      if (health.what != HealthFact::kKernelLog) continue;
      fail_rule(finding,
                fmt::format("{}: the kernel logged an error of {}{}: {}", report->name(), health.device,
                            health.case_id.empty() ? "" : " at " + clean_text(health.case_id),
                            clean_text(health.evidence)));
    }
  }
}

void notrun_rule(const CellView& view, GateFinding& finding) {
  no_case(view, finding, "did not run", [](const ResolvedCase& test) {
    return test.verdict.outcome == Outcome::kNotrun && gate_result_of(test) == GateResult::kFails;
  });
}

void executed_rule(const CellView& view, GateFinding& finding) {
  const int least = view.cell.min_executed.value_or(std::max(view.planned(), 1));
  const int executed = view.executed();
  finding.limit = fmt::format("at least {}", least);
  finding.value = fmt::format("{} of {}", executed, view.planned());
  if (executed >= least) return;
  fail_rule(finding, executed == 0
                         ? "nothing was executed"
                         : fmt::format("only {} {} executed, and at least {} must be",
                                       count_text(executed, "case"), plural(executed, "was", "were"), least));
  view.for_each_case([&](const ResolvedCase& test) {
    if (!counts_as_executed(test)) finding.cases.push_back(test.planned.id);
  });
}

// Returns whether the policy accepts the reason. Each matching entry counts as used.
bool accepts_skip(const CellView& view, const std::string& reason) {
  bool accepted = false;
  for (const GateSkip& skip : view.policy().skips) {
    if (!glob_match(skip.reason, reason)) continue;
    accepted = true;
    view.all.used_skips.insert(skip.reason);
  }
  return accepted;
}

void skips_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.policy().skips.empty() ? "no skip" : "skips for a reason that the policy has";
  int skipped = 0;
  std::map<std::string, int> unknown;
  view.for_each_case([&](const ResolvedCase& test) {
    if (test.verdict.outcome != Outcome::kSkip) return;
    ++skipped;
    if (accepts_skip(view, test.verdict.reason.text())) return;
    ++unknown[test.verdict.reason.text()];
    finding.cases.push_back(test.planned.id);
  });
  finding.value = count_text(skipped, "skip");
  for (const auto& [reason, count] : unknown)
    fail_rule(finding, fmt::format("{} skipped for a reason that the policy does not have: {}",
                                   count_text(count, "case"), clean_text(reason)));
}

// Returns the first entry that matches the case and each of its telling attempts; otherwise null.
JudgedEntry* entry_about(std::vector<JudgedEntry>& entries, const ResolvedCase& test) {
  const std::vector<const Attempt*> telling = telling_attempts(test);
  if (telling.empty()) return nullptr;
  for (JudgedEntry& judged : entries) {
    const GateKnownFailure& entry = *judged.entry;
    if (!covers(entry, test.planned.id)) continue;
    if (!entry.backend.empty() && entry.backend != test.planned.backend) continue;
    const auto is_about = [&](const Attempt* one) { return holds_on(entry, *one) && explains(entry, *one); };
    if (std::ranges::all_of(telling, is_about)) return &judged;
  }
  return nullptr;
}

void flaky_rule(const CellView& view, GateFinding& finding) {
  const double percent = view.policy().flaky_percent;
  const int executed = view.executed();
  Texts flaky;
  Texts unlisted;
  view.for_each_case([&](const ResolvedCase& test) {
    if (!passed_after_failure(test)) return;
    flaky.emplace_back(test.planned.id);
    JudgedEntry* judged = entry_about(view.all.entries, test);
    if (judged != nullptr && judged->entry->mistakes.empty()) {
      ++judged->hits;
    } else {
      unlisted.emplace_back(test.planned.id);
    }
  });
  const double share = executed > 0 ? 100.0 * static_cast<double>(flaky.size()) / executed : 0;
  finding.limit = fmt::format("{} % of the executed cases, each a known failure", percent);
  finding.value = fmt::format("{} of {}, {:.3f} %", flaky.size(), executed, share);
  if (share > percent) {
    fail_rule(
        finding,
        fmt::format("{} passed only after a failure, which is {:.3f} % of {} executed, and {} % are allowed",
                    count_text(flaky.size(), "case"), share, executed, percent));
    finding.cases = flaky;
  } else if (!unlisted.empty()) {
    fail_rule(finding, fmt::format("{} passed only after a failure, and no known failure covers it",
                                   count_text(unlisted.size(), "case")));
    finding.cases = unlisted;
  }
}

void expected_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "each failure that counts as expected has an entry that holds";
  int expected = 0;
  std::map<std::string, int> why;
  view.for_each_case([&](const ResolvedCase& test) {
    if (test.verdict.outcome != Outcome::kXfail) return;
    ++expected;
    JudgedEntry* judged = entry_about(view.all.entries, test);
    if (judged != nullptr) ++judged->hits;
    if (judged != nullptr && judged->entry->mistakes.empty()) return;
    finding.cases.push_back(test.planned.id);
    ++why[judged == nullptr
              ? "no known failure of the policy's list explains it"
              : fmt::format("{}: {}", judged->entry->origin, joined(judged->entry->mistakes, "; "))];
  });
  finding.value = fmt::format("{} expected", count_text(expected, "failure"));
  for (const auto& [text, count] : why)
    fail_rule(finding, fmt::format("{} expected to fail: {}", count_text(count, "case"), text));
}

// This rule also applies if the run did not have the list. An entry with a mistake fails another rule.
void unexpected_pass_rule(const CellView& view, GateFinding& finding) {
  no_case(view, finding, "passed although a failure is known: remove the entry or the marker",
          [&](const ResolvedCase& test) {
            if (test.verdict.outcome == Outcome::kXpass) return true;
            if (test.verdict.outcome != Outcome::kPass || passed_after_failure(test)) return false;
            const JudgedEntry* judged = entry_about(view.all.entries, test);
            return judged != nullptr && !judged->entry->predicted && judged->entry->mistakes.empty();
          });
}

constexpr CellRule kCaseRules[] = {{"failed", failed_rule},     {"machine", machine_rule},
                                   {"notrun", notrun_rule},     {"executed", executed_rule},
                                   {"skips", skips_rule},       {"flaky", flaky_rule},
                                   {"expected", expected_rule}, {"unexpected_pass", unexpected_pass_rule}};

}  // namespace

std::span<const CellRule> case_rules() { return kCaseRules; }

}  // namespace proctor::judging
