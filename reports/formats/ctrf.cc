#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "harness/base/digest.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/formats/formats.h"
#include "reports/formats/json_writer.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_end.h"

namespace proctor {
namespace {

constexpr const char* kSpecVersion = "1.0.0";

// Returns a UUID that is the same for the same name: RFC 9562, version 8.
std::string uuid_of(const std::string& name) {
  std::string hex = sha256_hex(name).substr(0, 32);
  hex[12] = '8';
  hex[16] = '8';
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20));
}

// CTRF requires names, and a name without visible characters would be empty.
std::string name_or_mark(const std::string& text) {
  const std::string clean = clean_text(text);
  return clean.empty() ? "?" : clean;
}

void write_summary(JsonWriter& json, const ResolvedRun& run, const std::vector<RunProblem>& problems) {
  std::array<std::size_t, 4> counts{};
  std::set<std::string> suites;
  std::size_t flaky = 0;
  for (const ResolvedCase& test : run.cases) {
    ++counts[static_cast<std::size_t>(formats_of(test).ctrf)];
    flaky += test.flaky ? 1 : 0;
    suites.insert(test.planned.suite + "." + test.planned.backend);
  }
  const auto count = [&](CtrfStatus status) { return counts[static_cast<std::size_t>(status)]; };
  const std::int64_t start = unix_ms(run.plan.started);
  json.open_object("summary").member("tests", run.cases.size() + problems.size());
  json.member("passed", count(CtrfStatus::kPassed));
  json.member("failed", count(CtrfStatus::kFailed) + problems.size());
  json.member("skipped", count(CtrfStatus::kSkipped)).member("pending", 0);
  json.member("other", count(CtrfStatus::kOther));
  json.member("flaky", flaky).member("suites", suites.size() + (problems.empty() ? 0 : 1));
  json.member("start", start).member("stop", start + run.elapsed_ms).member("duration", run.elapsed_ms);
  json.open_object("extra").open_object("proctor");
  const Summary& summary = run.summary;
  json.member("planned", summary.planned());
  for (const Outcome outcome : kAllOutcomes) {
    if (summary[outcome] > 0) json.member(to_string(outcome), summary[outcome]);
  }
  json.close().close().close();
}

void write_environment(JsonWriter& json, const ResolvedRun& run) {
  const RunPlanned& plan = run.plan;
  const Subject& subject = plan.subject;
  json.open_object("environment").member("osPlatform", "linux");
  if (subject.commit.value) json.member("commit", *subject.commit.value);
  if (subject.branch.value) json.member("branchName", *subject.branch.value);
  if (subject.repository.value) json.member("repositoryUrl", *subject.repository.value);
  if (subject.build.value) json.member("buildUrl", *subject.build.value);
  if (plan.shard) json.member("shardId", fmt::format("{}/{}", plan.shard->index, plan.shard->count));
  json.member("healthy", run.shell_exit_code != kExitMachine);
  json.open_object("extra").open_object("proctor").member("exit_code", run.shell_exit_code);
  json.member("verdict", to_string(run.verdict)).member("simulated", run.simulated);
  if (plan.sim) json.member("simulation", plan.sim->topology + " by " + plan.sim->driver);
  json.member("containment", plan.containment.layer).member("plan_digest", plan.plan_digest);
  json.member_if_any("host", plan.hostname);
  if (subject.dirty.value) json.member("dirty", *subject.dirty.value == "true");
  json.objects("stack", plan.stack, [](JsonWriter& out, const auto& entry) {
    out.member("name", entry.first).member("value", entry.second);
  });
  json.objects("warnings", run.warnings, write_warning).close().close().close();
}

void write_attachments(JsonWriter& json, const Attempt& attempt) {
  std::vector<std::pair<std::string_view, std::string>> files;
  if (!attempt.start.log.empty()) files.emplace_back("log", attempt.start.log);
  if (attempt.end && !attempt.end->evidence.file.empty())
    files.emplace_back("evidence", attempt.end->evidence.file);
  json.objects_if_any("attachments", files, [](JsonWriter& out, const auto& file) {
    out.member("name", file.first).member("contentType", "text/plain").member("path", file.second);
  });
}

// Writes the attempts before the last, each with its outcome. Requested repeats are not retries, but CTRF has no other
// place for them.
void write_retries(JsonWriter& json, const ResolvedCase& test) {
  if (test.attempts.size() < 2) return;
  const auto retries =
      std::ranges::count_if(test.attempts, [](const Attempt& a) { return a.start.attempt > 1; }) -
      std::ranges::count_if(test.attempts,
                            [](const Attempt& a) { return a.confirmed_alone || is_unproven(a); });
  json.member("retries", retries);
  const std::span before(test.attempts.begin(), test.attempts.end() - 1);
  json.objects("retryAttempts", before, [&](JsonWriter& out, const Attempt& attempt) {
    const Verdict verdict = verdict_of(attempt);
    out.member("attempt", &attempt - &before.front() + 1);
    out.member("status", to_string(formats_of(verdict, test.planned.kind).ctrf));
    out.member("duration", attempt.end ? std::max<std::int64_t>(attempt.end->duration_ms, 0) : 0);
    if (verdict.outcome != Outcome::kPass) out.member("message", attempt.headline);
    write_attachments(out, attempt);
    out.open_object("extra").open_object("proctor").member("outcome", to_string(verdict.outcome));
    out.member_if_any("reason", verdict.reason.text()).member("devices", attempt.start.devices);
    out.close().close();
  });
}

void write_extra(JsonWriter& json, const ResolvedCase& test, const Attempt* last) {
  const Verdict verdict = test.verdict;
  json.open_object("extra").open_object("proctor").member("kind", test.planned.kind);
  json.member_if_any("reason", verdict.reason.text());
  if (const FailureOwner cause = test.problem; cause != FailureOwner::kNobody)
    json.member("owner", to_string(cause));
  if (const auto& culprit = test.culprit) {
    json.open_object("culprit").member("kind", culprit->kind).member("name", culprit->name);
    json.member_if_any("version", culprit->version).close();
  }
  if (!test.marks.empty()) json.member("marks", texts_of(test.marks));
  write_case_facts(json, test);
  json.member("simulated", test.simulated);
  if (test.end) json.member_if_any("known_failure", test.end->known_failure);
  if (last != nullptr && last->end) {
    json.member_if_any("rule", last->end->rule).member_if_any("severity", last->end->severity.text());
    json.objects_if_any("measures", last->end->measures, write_measure);
  }
  json.close().close();
}

// Writes the cases of a run. It needs the start of the run for times, and its checkout for source locations.
class TestWriter {
 public:
  TestWriter(JsonWriter& json, const RunPlanned& plan)
      : json_(json), plan_(plan), start_ms_(unix_ms(plan.started)) {}

  void write(const ResolvedCase& test) {
    const PlannedCase& planned = test.planned;
    const Verdict verdict = test.verdict;
    const Attempt* last = test.attempts.empty() ? nullptr : &test.attempts.back();
    json_.open_object().member("testId", name_or_mark(planned.id)).member("name", name_or_mark(planned.name));
    json_.member("status", to_string(formats_of(test).ctrf)).member("rawStatus", to_string(verdict.outcome));
    json_.member("duration", test.duration_ms);
    if (last != nullptr) json_.member("start", start_ms_ + test.attempts.front().start.at_ms);
    if (last != nullptr && last->end) json_.member("stop", start_ms_ + last->end->at_ms);
    json_.open_array("suite").item(planned.suite).item(planned.backend).item(planned.classname).close();
    if (verdict.outcome != Outcome::kPass) write_failure(test);
    if (verdict.outcome == Outcome::kPass && last != nullptr && passed_after_retry(*last))
      json_.member("message", last->headline);
    if (test.flaky) json_.member("flaky", true);
    write_retries(json_, test);
    if (last != nullptr && !last->start.devices.empty())
      json_.member("device", joined(last->start.devices, ", "));
    if (last != nullptr && test.bad) write_attachments(json_, *last);
    write_extra(json_, test, last);
    json_.close();
  }

 private:
  void write_failure(const ResolvedCase& test) {
    json_.member("message", test.headline);
    const Attempt* attempt = test.deciding;
    if (attempt == nullptr || !attempt->end || attempt->end->failures.empty()) return;
    const Failure& first = attempt->end->failures.front();
    std::string trace;
    for (const Failure& failure : attempt->end->failures)
      trace += fmt::format("{}:{}: {}\n", failure.file, failure.line, failure.message);
    json_.member("trace", elide_middle(clean_text(trace)));
    const std::string file = below_checkout(plan_, first.file);
    if (file.empty()) return;
    json_.member("filePath", file);
    if (first.line > 0) json_.member("line", first.line);
  }

  JsonWriter& json_;
  const RunPlanned& plan_;
  std::int64_t start_ms_;
};

// Writes a problem that fails the run and is not a case.
void write_problem(JsonWriter& json, const RunProblem& problem) {
  json.open_object().member("testId", fmt::format("{}/{}", kRunSuite, problem.name));
  json.member("name", problem.name);
  json.member("status", to_string(CtrfStatus::kFailed)).member("rawStatus", to_string(Outcome::kError));
  json.member("duration", 0).open_array("suite").item(kRunSuite).close();
  json.member("message", problem.title + ": " + problem.message).close();
}

}  // namespace

void write_ctrf(const ResolvedRun& run, TextOutput& output) {
  const RunPlanned& plan = run.plan;
  const auto& problems = run.problems;
  const std::string finished = run.ended ? run.ended->finished : plan.started;
  JsonWriter json(output);
  json.open_object().member("reportFormat", "CTRF").member("specVersion", kSpecVersion);
  json.member("reportId", uuid_of(plan.run_id + "\n" + plan.plan_digest));
  json.member("runId", name_or_mark(plan.run_id));
  if (is_utc_stamp(finished)) json.member("timestamp", finished);
  json.member("generatedBy", "proctor " + plan.proctor_version).open_object("results");
  json.open_object("tool").member("name", "proctor").member("version", plan.proctor_version).close();
  write_summary(json, run, problems);
  json.open_array("tests");
  TestWriter tests(json, plan);
  for (const ResolvedCase& test : run.cases) tests.write(test);
  for (const RunProblem& problem : problems) write_problem(json, problem);
  json.close();
  write_environment(json, run);
  json.close().close();
  output.pending() += '\n';
}

}  // namespace proctor
