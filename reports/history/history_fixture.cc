#include "reports/history/history_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "harness/base/digest.h"

namespace proctor::testing_support {

std::string canonical_text(const RunResults& run) {
  std::string text =
      fmt::format("run {} {} {} {} {} {} {} {} {} {}\n", run.run_id, run.journal_sha256, run.started,
                  run.subject.commit.value.value_or("?"), run.subject.dirty.value.value_or("?"),
                  run.subject.branch.value.value_or("?"), run.plan_digest, run.exit_code,
                  to_string(run.verdict), run.complete);
  for (const std::string& part : run.parts) text += fmt::format("  part {}\n", part);
  for (const StackFact& fact : run.stack)
    text += fmt::format("  {} = {} {} {} {}\n", fact.name, fact.value.value_or("?"), fact.source, fact.reason,
                        fact.absent);
  for (const TestedProgram& program : run.programs)
    text += fmt::format("  {} {} {}\n", program.suite, program.backend, program.sha256);
  for (const UsedDevice& device : run.devices)
    text += fmt::format("  {} {} {} {} {} {}\n", device.id, device.host, device.model, device.attempts,
                        device.failed_attempts, device.drained);
  for (const CaseResult& result : run.cases) {
    const Cause cause = result.cause == kNoCause ? Cause() : run.causes[result.cause];
    text += fmt::format("  {} | {} | {} {} {} {} {} {} {} {}\n", result.id,
                        to_string(run.variants[result.variant]), to_string(result.verdict),
                        to_string(result.result_class), result.attempts, result.flaky, result.duration_ms,
                        result.device, cause.key, describe(run, result));
    for (const Measure& measure : result.measures)
      text += fmt::format("    {} {} {} {} {}\n", measure.name, measure.value, measure.unit, measure.n,
                          measure.spread);
  }
  return text;
}

RunResults made_run(int number, const std::vector<MadeCase>& cases) {
  RunResults run;
  run.place = fmt::format("run-{}", number);
  run.run_id = fmt::format("id-{:03}", number);
  run.journal_sha256 = sha256_hex(run.run_id);
  run.started = fmt::format("2026-02-{:02}T{:02}:00:00Z", 1 + number / 24, number % 24);
  set_commit(run, fmt::format("c{}", number));
  set_branch(run, "main");
  run.plan_digest = "plan";
  run.complete = true;
  run.verdict = RunVerdict::kPassed;
  run.variants = {{.suite = "memory", .backend = "xpu", .device_model = "Card"}};
  run.programs = {{"memory", "xpu", std::string(64, 'a')}};
  run.devices = {{"xpu:0", "gpu-01", "Card", 40, number, false}};
  set_fact(run, "host.kernel", "6.1");
  for (const MadeCase& made : cases) {
    const Verdict verdict{made.outcome, reason_in_words(made.outcome == Outcome::kPass ? "" : "why")};
    const ResultClass result_class = meaning_of(verdict, "proctor").result_class;
    CaseResult result{.id = made.id, .verdict = verdict, .result_class = result_class};
    result.attempts = result_class == ResultClass::kNotrun ? 0 : made.flaky ? 2 : 1;
    result.flaky = made.flaky;
    result.duration_ms = 1000 + number;
    result.device = "xpu:0";
    if (result_class != ResultClass::kPassing || made.flaky) {
      result.cause = 0;
      run.causes = {{"key", fmt::format("expected {} bytes", number)}};
    }
    run.cases.push_back(result);
  }
  return run;
}

void set_commit(RunResults& run, const std::string& commit) {
  run.subject.commit = {.value = commit, .source = "test"};
  run.subject.dirty = {.value = "false", .source = "test"};
}

void set_branch(RunResults& run, const std::string& branch) {
  run.subject.branch = {.value = branch, .source = "test"};
}

void set_fact(RunResults& run, const std::string& name, const std::string& value) {
  const auto known = std::ranges::find(run.stack, name, &StackFact::name);
  if (known != run.stack.end()) run.stack.erase(known);
  run.stack.push_back({.name = name, .value = value, .source = "test"});
}

Result<Added> add_one(History& history, const RunResults& run) {
  Added added = Added::kNew;
  const auto done = history.change([&]() -> Result<void> {
    const auto how = history.add(run);
    if (!how) return how.error();
    added = *how;
    return {};
  });
  if (!done) return done.error();
  return added;
}

History history_of(const std::string& path, const std::vector<RunResults>& runs) {
  auto history = History::open(path, std::chrono::seconds(20));
  EXPECT_TRUE(history) << history.error().what;
  const auto done = history->change([&]() -> Result<void> {
    for (const RunResults& run : runs) {
      if (const auto added = history->add(run); !added) return added.error();
    }
    return {};
  });
  EXPECT_TRUE(done) << done.error().what;
  return *std::move(history);
}

void add_all(History& into, History& from) {
  const auto done = into.change([&]() -> Result<void> {
    const auto added = into.add_all(from);
    return added ? Result<void>() : added.error();
  });
  EXPECT_TRUE(done) << done.error().what;
}

std::string canonical_text(History& history) {
  std::string text;
  const auto runs = history.runs();
  EXPECT_TRUE(runs) << runs.error().what;
  for (const HistoryRun& run : *runs) {
    const auto results = history.results_of(run);
    EXPECT_TRUE(results) << results.error().what;
    text += canonical_text(*results);
  }
  return text;
}

}  // namespace proctor::testing_support
