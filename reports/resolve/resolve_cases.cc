#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/base/clock.h"
#include "harness/base/words.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/run_resolver.h"

namespace proctor {
namespace {

const Verdict kInterrupted{Outcome::kNotrun, Reason::kInterrupted};
const Verdict kDeviceUnhealthy{Outcome::kNotrun, Reason::kDeviceUnhealthy};
const Verdict kWarned{Outcome::kFail, Reason::kWarn};

// ---- The verdict ----

// Returns the verdict of a case without an end record (table in run_resolver.h).
const Verdict& verdict_of_attempts(const ResolvedCase& test) {
  std::vector<const Attempt*> attempts;
  for (const Attempt& attempt : test.attempts) {
    if (counts(attempt)) attempts.push_back(&attempt);
  }
  if (attempts.empty()) return kDeviceUnhealthy;
  for (std::size_t i = 0; i + 1 < attempts.size(); ++i) {
    const bool last_of_repeat = attempts[i]->start.repeat != attempts[i + 1]->start.repeat;
    const Verdict& verdict = verdict_of(*attempts[i]);
    if (last_of_repeat && is_bad(verdict.outcome)) return verdict;
  }
  const Attempt& last = *attempts.back();
  const Verdict& verdict = verdict_of(last);
  if (!last.end || is_bad(verdict.outcome)) return verdict;
  return last.start.repeat < test.planned.repeat ? kInterrupted : verdict;
}

Verdict recorded_verdict(const ResolvedRun& run, const ResolvedCase& test) {
  if (test.end) return test.end->verdict;
  if (!test.attempts.empty()) return verdict_of_attempts(test);
  Verdict verdict = kInterrupted;
  if (run.stop) verdict.reason = reason_of_rest(run.stop->reason);
  return verdict;
}

Marks marks_of(const ResolvedCase& test) {
  Marks all = test.end ? test.end->marks : Marks();
  for (const Attempt& attempt : test.attempts) {
    if (attempt.end) all.insert(all.end(), attempt.end->marks.begin(), attempt.end->marks.end());
  }
  std::erase(all, Mark::kUnconfirmed);  // this mark applies only to attempts
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Verdict verdict_of_case(const ResolvedRun& run, const ResolvedCase& test) {
  Verdict verdict = recorded_verdict(run, test);
  const bool may_warn = verdict.outcome == Outcome::kPass || verdict.outcome == Outcome::kSkip;
  return run.plan.rules.strict && may_warn && has_mark(test.marks, Mark::kWarn) ? kWarned : verdict;
}

bool is_simulated(const ResolvedRun& run, const ResolvedCase& test) {
  bool leased = false;
  for (const Attempt& attempt : test.attempts) {
    for (const PlannedDevice& device : run.plan.devices) {
      const auto& ids = attempt.start.devices;
      if (std::ranges::find(ids, device.id) == ids.end()) continue;
      if (device.simulated) return true;
      leased = true;
    }
  }
  // A case without its own device ran together with simulated devices, so it is not evidence about hardware.
  return !leased && run.simulated;
}

// ---- The attempts that determine and explain the outcome ----

const Attempt* deciding_attempt(const ResolvedCase& test) {
  const Attempt* last = nullptr;
  const Attempt* bad = nullptr;
  const Attempt* same = nullptr;
  for (const Attempt& attempt : test.attempts) {
    const Verdict& its = verdict_of(attempt);
    last = &attempt;
    if (is_bad(its.outcome)) bad = &attempt;
    if (its.outcome == test.verdict.outcome) same = &attempt;
  }
  if (same != nullptr) return same;
  return bad != nullptr ? bad : last;
}

const Diagnosis* diagnosis_of(const ResolvedCase& test) {
  const Attempt* attempt = test.deciding;
  const bool shows = attempt != nullptr && attempt->end && attempt->end->verdict == test.verdict;
  return shows && attempt->end->diagnosis ? &*attempt->end->diagnosis : nullptr;
}

std::int64_t duration_of(const ResolvedCase& test) {
  std::int64_t sum = 0;
  for (const Attempt& attempt : test.attempts) {
    if (attempt.end) sum += std::max<std::int64_t>(attempt.end->duration_ms, 0);
  }
  return sum;
}

// ---- Owner ----

FailureOwner problem_of(const RunPlanned& plan, const ResolvedCase& test) {
  if (test.moved) return FailureOwner::kMachine;
  // `exec` starts its command once, so its verdict may be that of an attempt on an unhealthy device.
  if (plan.exec && test.deciding != nullptr && is_suspect(*test.deciding)) return FailureOwner::kMachine;
  if (plan.rules.each_device && test.fault_of_devices) return FailureOwner::kMachine;
  if (test.diagnosis != nullptr) return test.diagnosis->problem;
  if (test.verdict.outcome == Outcome::kXpass && !test.bad) return FailureOwner::kNobody;
  // If a command of `exec` did not start because it got no device, a suite counts it as a skip. For the caller of
  // `exec` it is a failure of the machine.
  const bool kept_out = plan.exec && test.verdict.outcome == Outcome::kSkip;
  return kept_out ? FailureOwner::kMachine : failure_owner(test.verdict);
}

// Returns the device of an attempt, if it is the only device of that attempt.
std::unique_ptr<Culprit> device_of(const RunPlanned& plan, const Attempt* attempt) {
  if (attempt == nullptr || attempt->start.devices.size() != 1) return nullptr;
  const std::string& id = attempt->start.devices.front();
  const auto device = std::ranges::find(plan.devices, id, &PlannedDevice::id);
  const bool has_name = device != plan.devices.end() && !device->name.empty();
  return std::make_unique<Culprit>(Culprit{.kind = "device", .name = has_name ? device->name : id});
}

std::unique_ptr<Culprit> culprit_of(const RunPlanned& plan, const ResolvedCase& test) {
  const Diagnosis* diagnosis = test.diagnosis;
  if (diagnosis != nullptr && diagnosis->problem == test.problem && !test.moved)
    return diagnosis->culprit ? std::make_unique<Culprit>(*diagnosis->culprit) : nullptr;
  const bool by_device = test.moved || (test.telling != nullptr && is_suspect(*test.telling)) ||
                         (plan.rules.each_device && test.fault_of_devices);
  return test.problem == FailureOwner::kMachine && by_device ? device_of(plan, test.telling) : nullptr;
}

const KnownFailureEntry* known_failure_of(const RunPlanned& plan, const ResolvedCase& test) {
  if (!test.end || test.end->known_failure_location.empty() || !plan.known_failures) return nullptr;
  const auto& entries = plan.known_failures->entries;
  const auto found = std::ranges::find(entries, test.end->known_failure_location, &KnownFailureEntry::at);
  return found == entries.end() ? nullptr : &*found;
}

bool simply_passed(const ResolvedCase& test) {
  return test.verdict.outcome == Outcome::kPass && test.attempts.size() == 1 && test.marks.empty() &&
         verdict_of(test.attempts.front()).outcome == Outcome::kPass;
}

// Clears headlines of an earlier call, which was made while the attempt was still running.
void clear_headlines(ResolvedCase& test) {
  test.headline.clear();
  test.devices_text.clear();
  test.attempts.front().headline.clear();
}

void resolve_case(const ResolvedRun& run, ResolvedCase& test) {
  test.marks = marks_of(test);
  test.verdict = verdict_of_case(run, test);
  test.result_class = meaning_of(test.verdict, test.planned.kind).result_class;
  test.bad = is_bad(test.verdict.outcome, test.planned.kind);
  test.moved = !test.bad && has_mark(test.marks, Mark::kDeviceSuspect);
  test.flaky = !test.bad && has_mark(test.marks, Mark::kFlaky);
  test.changes_device = test.moved && !run.plan.rules.each_device;
  test.simulated = is_simulated(run, test);
  test.of_exec = run.plan.exec;
  test.duration_ms = duration_of(test);
  test.deciding = deciding_attempt(test);
  test.telling = test.moved || test.flaky ? first_bad_attempt(test) : test.deciding;
  test.diagnosis = diagnosis_of(test);
  test.known_failure = known_failure_of(run.plan, test);
  const auto past = run.pasts.find(test.planned.id);
  test.past = past == run.pasts.end() ? nullptr : &past->second;
  test.is_new = test.past != nullptr && is_new(*test.past);
  test.fails_only_after_others = test.end && has_mark(test.end->marks, Mark::kOrderDependent);
  resolve_device_row(run.plan, test);
  test.problem = problem_of(run.plan, test);
  test.culprit = culprit_of(run.plan, test);
  if (simply_passed(test)) {
    clear_headlines(test);
  } else {
    resolve_headlines(run, test);
  }
}

// ---- The variants ----

std::string known_fact(const RunPlanned& plan, std::string_view name) {
  const auto fact = std::ranges::find(plan.fingerprint, name, &StackFact::name);
  return fact != plan.fingerprint.end() ? fact->value.value_or("") : "";
}

std::string models_of(const RunPlanned& plan, const std::string& backend) {
  std::set<std::string> models;
  for (const PlannedDevice& device : plan.devices) {
    if (device.backend == backend) models.insert(device.name);
  }
  return joined({models.begin(), models.end()}, " + ");
}

void resolve_variants(ResolvedRun& run) {
  const std::string stack = known_fact(run.plan, "image.stack");
  std::map<std::tuple<std::string_view, std::string_view, bool>, std::uint32_t> numbers;
  run.variants.clear();
  for (ResolvedCase& test : run.cases) {
    const PlannedCase& planned = test.planned;
    const auto [found, is_first] =
        numbers.try_emplace({planned.suite, planned.backend, test.simulated}, numbers.size());
    test.variant = found->second;
    if (!is_first) continue;
    run.variants.push_back(
        {planned.suite, planned.backend, stack, models_of(run.plan, planned.backend), test.simulated});
  }
}

// ---- The sums ----

std::vector<SuiteSum> suite_sums(const ResolvedRun& run) {
  std::map<std::pair<std::string, std::string>, SuiteSum> sums;
  for (const ResolvedCase& test : run.cases) {
    SuiteSum& sum = sums[{test.planned.suite, test.planned.backend}];
    ++sum.summary[test.verdict.outcome];
    sum.flaky += test.flaky ? 1 : 0;
    sum.duration_ms += test.duration_ms;
  }
  std::vector<SuiteSum> list;
  for (auto& [of, sum] : sums) {
    sum.suite = of.first;
    sum.backend = of.second;
    list.push_back(std::move(sum));
  }
  return list;
}

std::optional<int> days_left(const RunPlanned& plan, const KnownFailureEntry& entry) {
  const auto started = parse_utc(plan.started);
  const auto expires = parse_day(entry.expires);
  if (!started || !expires) return std::nullopt;
  return days_between(day_of(*started), *expires);
}

std::vector<KnownFailureUse> known_failures_of(const ResolvedRun& run) {
  std::vector<KnownFailureUse> uses;
  if (!run.plan.known_failures) return uses;
  std::map<std::string_view, int> hits;
  for (const ResolvedCase& test : run.cases) {
    if (test.end && test.verdict.outcome == Outcome::kXfail) ++hits[test.end->known_failure_location];
  }
  for (const KnownFailureEntry& entry : run.plan.known_failures->entries)
    uses.push_back({.entry = &entry, .hits = hits[entry.at], .days_left = days_left(run.plan, entry)});
  return uses;
}

WholePlan whole_plan_of(const ResolvedRun& run) {
  const RunPlanned& plan = run.plan;
  if (plan.rest) {
    return {.plan = plan.rest->plan,
            .plan_digest = plan.rest->plan_digest,
            .planned = plan.rest->planned,
            .shards = plan.rest->shards};
  }
  if (plan.shard) {
    return {.plan = plan.shard->plan,
            .plan_digest = plan.plan_digest,
            .planned = plan.shard->planned,
            .shards = plan.shard->count};
  }
  return {.plan = {},
          .plan_digest = plan.plan_digest,
          .planned = static_cast<int>(run.cases.size()),
          .shards = 1};
}

}  // namespace

void resolve_cases(ResolvedRun& run) {
  run.simulated = run.plan.sim.has_value() ||
                  std::ranges::any_of(run.plan.devices, [](const auto& device) { return device.simulated; });
  run.summary = {};
  for (ResolvedCase& test : run.cases) {
    resolve_case(run, test);
    ++run.summary[test.verdict.outcome];
  }
  resolve_variants(run);
  run.suites = suite_sums(run);
  run.known_failures = known_failures_of(run);
  run.whole_plan = whole_plan_of(run);
  resolve_rerun_lines(run);
}

}  // namespace proctor
