#include "reports/gate/gate_rules.h"

#include <algorithm>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/report_text.h"

namespace proctor {

namespace {

// Returns whether a case failed in one attempt and finally passed or was skipped, independent of its marks.
bool recovered(const ResolvedCase& test) {
  return (test.verdict.outcome == Outcome::kPass || test.verdict.outcome == Outcome::kSkip) &&
         std::ranges::any_of(test.attempts, [](const Attempt& attempt) {
           return attempt.end && is_bad(attempt.end->verdict.outcome) && counts(attempt);
         });
}

}  // namespace

bool passed_after_failure(const ResolvedCase& test) {
  return !has_mark(test.marks, Mark::kDeviceSuspect) &&
         (has_mark(test.marks, Mark::kFlaky) || recovered(test));
}

std::vector<const Attempt*> telling_attempts(const ResolvedCase& test) {
  std::vector<const Attempt*> telling;
  if (!passed_after_failure(test)) {
    if (test.deciding != nullptr) telling.push_back(test.deciding);
    return telling;
  }
  for (const Attempt& attempt : test.attempts) {
    const bool bad = passed_after_retry(attempt) || is_bad(verdict_of(attempt).outcome);
    if (bad && counts(attempt)) telling.push_back(&attempt);
  }
  return telling;
}

namespace judging {

void fail_rule(GateFinding& finding, std::string why) {
  finding.held = false;
  finding.reasons.push_back(std::move(why));
}

std::string listed(const std::set<std::string>& texts, std::string_view between) {
  return joined({texts.begin(), texts.end()}, between);
}

// ---- A case ----

GateResult gate_result_of(const ResolvedCase& test) {
  return gate_result(meaning_of(test.verdict, test.planned.kind));
}

bool was_executed(const Verdict& verdict) {
  return verdict.outcome != Outcome::kSkip && verdict.outcome != Outcome::kNotrun;
}

bool counts_as_executed(const ResolvedCase& test) {
  return was_executed(test.verdict) && gate_result_of(test) != GateResult::kMissing;
}

bool covers(const GateKnownFailure& entry, std::string_view id) {
  return std::ranges::any_of(entry.cases, [&](const std::string& glob) { return glob_match(glob, id); });
}

// ---- A run ----

bool has_suite(const GateReport& report, const std::string& suite, const std::string& backend) {
  return std::ranges::any_of(
      report.run.suites, [&](const SuiteSum& sum) { return sum.suite == suite && sum.backend == backend; });
}

std::string fact(const GateReport& report, std::string_view name) {
  const auto& facts = report.run.plan.fingerprint;
  const auto found = std::ranges::find(facts, name, &StackFact::name);
  return found != facts.end() ? found->value.value_or("") : "";
}

const SubjectFact& subject_fact(const GateReport& report, const std::string& name) {
  const Subject& subject = report.run.plan.subject;
  if (name == "branch") return subject.branch;
  if (name == "repository") return subject.repository;
  if (name == "build") return subject.build;
  return subject.commit;
}

std::string models_in(const GateReport& report, const std::string& backend) {
  std::set<std::string> models;
  for (const PlannedDevice& device : report.run.plan.devices) {
    if (device.backend == backend) models.insert(device.name);
  }
  return listed(models);
}

bool has_model(const GateReport& report, const std::string& backend, const std::string& glob) {
  return std::ranges::any_of(report.run.plan.devices, [&](const PlannedDevice& device) {
    return device.backend == backend && glob_match(glob, device.name);
  });
}

bool was_given(const RunPlanned& plan, std::string_view option) {
  const auto& options = plan.restrictions.options;
  return std::ranges::find(options, option, &NarrowingOption::option) != options.end();
}

// ---- A cell ----

CellView::CellView(Judging& judging, const GateCell& asked) : all(judging), cell(asked) {
  const auto found = judging.inputs.plans.find(cell.plan);
  if (found != judging.inputs.plans.end()) plan = &found->second;
}

bool CellView::has_case_in(const GateReport& report) const {
  return has_suite(report, cell.suite, cell.backend);
}

const Texts* CellView::planned_ids() const {
  if (plan == nullptr) return nullptr;
  const auto found = plan->cases.find({cell.suite, cell.backend});
  return found != plan->cases.end() ? &found->second : nullptr;
}

int CellView::planned() const {
  if (plan == nullptr) return count_cases([](const ResolvedCase&) { return true; });
  return planned_ids() != nullptr ? static_cast<int>(planned_ids()->size()) : 0;
}

int CellView::executed() const { return count_cases(counts_as_executed); }

int CellView::count_cases(bool (*is)(const ResolvedCase&)) const {
  std::set<std::string_view> ids;
  for_each_case([&](const ResolvedCase& test) {
    if (is(test)) ids.insert(test.planned.id);
  });
  return static_cast<int>(ids.size());
}

namespace {

GateSpan span_of(const ResolvedRun& run) {
  const std::int64_t started = unix_ms(run.plan.started);
  return {started, started + std::max<std::int64_t>(run.elapsed_ms, 0)};
}

GateSpan span_within(const GateSpan& whole, const Attempt& attempt) {
  const std::int64_t length = whole.end - whole.begin;
  const std::int64_t begin = std::clamp<std::int64_t>(attempt.start.at_ms, 0, length);
  const std::int64_t lasted = std::clamp<std::int64_t>(attempt.end->duration_ms, 0, length - begin);
  return {whole.begin + begin, whole.begin + begin + lasted};
}

PlannedDevice device_in(const RunPlanned& plan, const std::string& id, const std::string& backend) {
  const auto found = std::ranges::find(plan.devices, id, &PlannedDevice::id);
  if (found != plan.devices.end()) return *found;
  return {.id = id, .backend = backend, .name = "", .simulated = false};
}

}  // namespace

std::vector<CellDevice> devices_of(const CellView& view) {
  std::vector<CellDevice> devices;
  for (const GateReport* report : view.reports) {
    const GateSpan whole = span_of(report->run);
    std::map<std::string, std::vector<GateSpan>> busy;
    view.for_each_case_of(*report, [&](const ResolvedCase& test) {
      if (!was_executed(test.verdict)) return;
      for (const Attempt& attempt : test.attempts) {
        if (!attempt.end || !was_executed(attempt.end->verdict)) continue;
        for (const std::string& id : attempt.start.devices) busy[id].push_back(span_within(whole, attempt));
      }
    });
    for (auto& [id, spans] : busy)
      devices.push_back({*report, device_in(report->run.plan, id, view.cell.backend), std::move(spans)});
  }
  return devices;
}

}  // namespace judging
}  // namespace proctor
