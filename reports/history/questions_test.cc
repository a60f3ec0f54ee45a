#include "reports/history/questions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "harness/base/temp_dir.h"
#include "reports/history/history_fixture.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Outcome kP = Outcome::kPass;
constexpr Outcome kF = Outcome::kFail;

// Returns one run for each outcome of its only case.
std::vector<RunResults> runs_of(const std::vector<Outcome>& outcomes) {
  std::vector<RunResults> runs;
  for (const Outcome outcome : outcomes)
    runs.push_back(made_run(static_cast<int>(runs.size()) + 1, {{"a/one", outcome}}));
  return runs;
}

class HistoryQuestionsTest : public testing::Test {
 protected:
  const TempDir directory_{"/dev/shm"};  // each change waits for the disk
  const std::string file_ = (directory_ / "history.sqlite").string();
};

HistoryAnswer answer(const std::vector<RunResults>& runs, const HistoryQuestion& question) {
  const TempDir directory("/dev/shm");
  History history = history_of((directory / "history.sqlite").string(), runs);
  auto answer = ask(history, question);
  EXPECT_TRUE(answer) << answer.error().what;
  return answer ? *std::move(answer) : HistoryAnswer();
}

std::vector<std::string> ids_of(const std::vector<FailingCase>& cases) {
  std::vector<std::string> ids;
  for (const FailingCase& failing : cases) ids.push_back(failing.id);
  return ids;
}

// ---- Since when ----

TEST_F(HistoryQuestionsTest, StreakBeginsAtFirstFailingRun) {
  const auto found = answer(runs_of({kP, kF, kP, kF, Outcome::kCrash, kF}), {.failing = true});
  ASSERT_THAT(found.failing, SizeIs(1));
  const FailingCase& failing = found.failing.front();
  EXPECT_EQ(found.runs[failing.since].run_id, "id-004");
  EXPECT_EQ(found.runs[failing.last.run].run_id, "id-006");
  ASSERT_TRUE(failing.passed);
  EXPECT_EQ(found.runs[*failing.passed].run_id, "id-003");
  EXPECT_EQ(failing.runs, 3);
  EXPECT_EQ(failing.last.cause, "expected 6 bytes");
  EXPECT_EQ(to_string(failing.last.verdict), "fail(why)");
}

TEST_F(HistoryQuestionsTest, SkippedRunsDoNotEndStreak) {
  const Outcome none = Outcome::kNotrun;
  const auto found = answer(runs_of({kP, kF, none, Outcome::kSkip, kF, none}), {.failing = true});
  ASSERT_THAT(found.failing, SizeIs(1));
  EXPECT_EQ(found.runs[found.failing[0].since].run_id, "id-002");
  EXPECT_EQ(found.failing[0].runs, 2);
}

TEST_F(HistoryQuestionsTest, ExpectedFailureEndsStreak) {
  EXPECT_THAT(answer(runs_of({kF, Outcome::kXfail}), {.failing = true}).failing, IsEmpty());
  const auto found = answer(runs_of({kF, Outcome::kXfail, kF}), {.failing = true});
  ASSERT_THAT(found.failing, SizeIs(1));
  EXPECT_EQ(found.runs[found.failing[0].since].run_id, "id-003");
  EXPECT_FALSE(found.failing[0].passed);
}

TEST_F(HistoryQuestionsTest, PassingCaseIsNotFailing) {
  EXPECT_THAT(answer(runs_of({kF, kF, kP}), {.failing = true}).failing, IsEmpty());
}

TEST_F(HistoryQuestionsTest, AddedLayerIsStackChange) {
  auto runs = runs_of({kP, kF});
  runs[0].stack.push_back({.name = "sim.faults", .absent = true});
  set_fact(runs[1], "sim.faults", "copy.short");
  const auto found = answer(runs, {.failing = true});
  ASSERT_THAT(found.failing, SizeIs(1));
  EXPECT_EQ(to_string(found.runs[found.failing[0].since].stack_changes), "sim.faults none -> copy.short");
}

TEST_F(HistoryQuestionsTest, RunListsStackChanges) {
  auto runs = runs_of({kP, kF, kF});
  for (RunResults& run : runs) set_fact(run, "xpu.driver", "26.31");
  set_fact(runs[1], "xpu.driver", "26.35");
  set_fact(runs[2], "xpu.driver", "26.35");
  set_fact(runs[2], "image.digest", "new");  // the fact is unknown in the run before
  const auto found = answer(runs, {.failing = true});
  ASSERT_THAT(found.failing, SizeIs(1));
  EXPECT_EQ(to_string(found.runs[found.failing[0].since].stack_changes), "xpu.driver 26.31 -> 26.35");
  EXPECT_THAT(found.runs[0].stack_changes, IsEmpty());
  EXPECT_THAT(found.runs[2].stack_changes, IsEmpty());
}

TEST_F(HistoryQuestionsTest, StackChangesCompareWithinVariant) {
  auto runs = runs_of({kP, kP, kF});
  runs[1].variants[0].stack = "other";
  set_fact(runs[1], "host.kernel", "5.10");
  const auto found = answer(runs, {.failing = true});
  EXPECT_THAT(found.runs[2].stack_changes, IsEmpty());
}

TEST_F(HistoryQuestionsTest, SimulatedResultsHaveSeparateVariant) {
  auto runs = runs_of({kF, kP});
  runs[1].variants[0].simulated = true;
  const auto found = answer(runs, {.failing = true, .outcomes = true});
  ASSERT_THAT(found.failing, SizeIs(1));
  EXPECT_FALSE(found.failing[0].variant.simulated);
  EXPECT_THAT(found.outcomes, SizeIs(2));
}

TEST_F(HistoryQuestionsTest, DefaultBranchIsBranchOfNewestRun) {
  auto runs = runs_of({kP, kF, kP});
  set_branch(runs[0], "topic");
  set_branch(runs[2], "topic");
  EXPECT_THAT(answer(runs, {.failing = true}).failing, IsEmpty());
  EXPECT_EQ(answer(runs, {.failing = true}).branch, "topic");
  EXPECT_THAT(ids_of(answer(runs, {.failing = true, .branch = "main"}).failing), ElementsAre("a/one"));
  const auto all = answer(runs, {.outcomes = true, .all_branches = true});
  EXPECT_EQ(all.branch, std::nullopt);
  EXPECT_THAT(all.outcomes[0].outcomes, SizeIs(3));
  History history = history_of(file_, runs);
  const auto unknown = ask(history, {.failing = true, .branch = "mian"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().hint, HasSubstr("`main`"));
}

TEST_F(HistoryQuestionsTest, SinceOmitsCasesLastFailingEarlier) {
  auto runs = runs_of({kP, kF, kF});
  runs.push_back(made_run(4, {{"a/other"}}));
  EXPECT_THAT(answer(runs, {.failing = true, .since = runs[3].started}).failing, IsEmpty());
  const auto found = answer(runs, {.failing = true, .since = runs[2].started});
  ASSERT_THAT(found.failing, SizeIs(1));
  EXPECT_EQ(found.runs[found.failing[0].since].run_id, "id-002");
}

// ---- Flakiness ----

TEST_F(HistoryQuestionsTest, FlakinessUsesWilsonInterval) {
  const Flakiness some =
      flakiness_of(2, 20);  // from the formula in Brown, Cai, DasGupta (2001), section 3.1.1
  EXPECT_NEAR(some.low, 0.0279, 0.0001);
  EXPECT_NEAR(some.high, 0.3010, 0.0001);
  EXPECT_EQ(flakiness_of(0, 10).low, 0);
  EXPECT_NEAR(flakiness_of(0, 10).high, 0.2775, 0.0001);
  EXPECT_EQ(flakiness_of(10, 10).high, 1);
}

TEST_F(HistoryQuestionsTest, DisagreeingRunsOfOneCommitAreFlaky) {
  auto runs = runs_of({kP, kP, kF, kP, kP, kP, kP, kP, kP, kP});
  set_commit(runs[1], "c3");
  const auto found = answer(runs, {.flaky = true});
  ASSERT_THAT(found.flaky, SizeIs(1));
  EXPECT_EQ(found.flaky[0].flakiness.runs, 10);
  EXPECT_EQ(found.flaky[0].flakiness.inconsistent_runs, 1);
}

TEST_F(HistoryQuestionsTest, DifferentCommitsAreNotFlaky) {
  EXPECT_THAT(answer(runs_of({kP, kF, kP, kF, kP, kF, kP, kF, kP, kF}), {.flaky = true}).flaky, IsEmpty());
}

TEST_F(HistoryQuestionsTest, FlakinessIgnoresRunsOfDirtyCheckout) {
  auto runs = runs_of({kP, kP, kF, kP, kP, kP, kP, kP, kP, kP});
  set_commit(runs[1], "c3");
  runs[2].subject.dirty.value = "true";
  EXPECT_THAT(answer(runs, {.flaky = true}).flaky, IsEmpty());
}

TEST_F(HistoryQuestionsTest, FlakyRunCountsAsDisagreeing) {
  auto runs = runs_of(std::vector<Outcome>(9, kP));
  runs.push_back(made_run(10, {{"a/one", kP, true}}));
  const auto found = answer(runs, {.flaky = true});
  ASSERT_THAT(found.flaky, SizeIs(1));
  EXPECT_EQ(found.flaky[0].flakiness.inconsistent_runs, 1);
}

TEST_F(HistoryQuestionsTest, FlakinessRequiresTenRuns) {
  auto runs = runs_of(std::vector<Outcome>(8, kP));
  runs.push_back(made_run(9, {{"a/one", kP, true}}));
  EXPECT_THAT(answer(runs, {.flaky = true}).flaky, IsEmpty());
  runs.push_back(made_run(10, {{"a/one", Outcome::kNotrun}}));  // a case that did not run does not count
  EXPECT_THAT(answer(runs, {.flaky = true}).flaky, IsEmpty());
  runs.push_back(made_run(11, {{"a/one"}}));
  EXPECT_THAT(answer(runs, {.flaky = true}).flaky, SizeIs(1));
}

// Computes the flakiness directly from all results, as a second implementation to compare with.
std::map<std::string, std::pair<int, int>> flakiness_by_hand(const std::vector<RunResults>& runs,
                                                             const std::string& since) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::array<int, 3>>> groups;
  for (const RunResults& run : runs) {
    if (run.started < since) continue;
    for (const CaseResult& result : run.cases) {
      if (result.result_class != ResultClass::kPassing && result.result_class != ResultClass::kFailing)
        continue;
      const bool clean = run.subject.dirty.value == "false" && run.subject.commit.value != "";
      const std::string group = clean ? *run.subject.commit.value : "run " + run.run_id;
      auto& [passed, failed, flaky] = groups[{result.id, to_string(run.variants[result.variant])}][group];
      ++(result.result_class == ResultClass::kPassing ? passed : failed);
      flaky += result.flaky && result.result_class == ResultClass::kPassing ? 1 : 0;
    }
  }
  std::map<std::string, std::pair<int, int>> found;
  for (const auto& [key, by_group] : groups) {
    int runs_of_it = 0;
    int inconsistent_runs = 0;
    for (const auto& [group, counts] : by_group) {
      const auto& [passed, failed, flaky] = counts;
      runs_of_it += passed + failed;
      inconsistent_runs += failed <= passed ? failed + flaky : passed;
    }
    if (runs_of_it >= kFewestRuns && inconsistent_runs > 0)
      found[key.first + " " + key.second] = {inconsistent_runs, runs_of_it};
  }
  return found;
}

std::map<std::string, std::string> streaks_by_hand(const std::vector<RunResults>& runs) {
  std::map<std::string, std::string> since;
  for (const RunResults& run : runs) {  // oldest first
    for (const CaseResult& result : run.cases) {
      const std::string key = result.id + " " + to_string(run.variants[result.variant]);
      if (result.result_class == ResultClass::kFailing) since.try_emplace(key, run.run_id);
      if (result.result_class == ResultClass::kPassing || result.result_class == ResultClass::kExpected)
        since.erase(key);
    }
  }
  return since;
}

std::vector<RunResults> random_runs(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  std::vector<RunResults> runs;
  for (int number = 1; number <= 40; ++number) {
    std::vector<MadeCase> cases;
    for (int i = 0; i < 12; ++i) {
      if (below(10) == 0) continue;
      const std::array outcomes = {kP, kP, kP, kF, Outcome::kXfail, Outcome::kSkip, Outcome::kNotrun};
      const Outcome outcome = outcomes[static_cast<std::size_t>(below(i % 2 == 0 ? 3 : 7))];
      cases.push_back({fmt::format("a/{}", i), outcome, outcome == kP && below(20) == 0});
    }
    runs.push_back(made_run(number, cases));
    set_commit(runs.back(), fmt::format("c{}", below(8)));
    if (below(10) == 0) runs.back().subject.dirty.value = "true";
    if (below(10) == 0) runs.back().subject.commit.value = std::nullopt;
    runs.back().variants[0].simulated = below(4) == 0;
  }
  return runs;
}

TEST_F(HistoryQuestionsTest, AnswersMatchBruteForce) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    auto runs = random_runs(seed);
    for (RunResults& run : runs) {
      if (!run.subject.commit.value) run.subject.commit.value = "";
    }
    for (const std::string& since : {std::string(), runs[15].started}) {
      const auto found = answer(runs, {.failing = true, .flaky = true, .since = since});
      std::map<std::string, std::pair<int, int>> flaky;
      for (const FlakyCase& c : found.flaky)
        flaky[c.id + " " + to_string(c.variant)] = {c.flakiness.inconsistent_runs, c.flakiness.runs};
      EXPECT_EQ(flaky, flakiness_by_hand(runs, since)) << seed;
      if (!since.empty()) continue;
      std::map<std::string, std::string> streaks;
      for (const FailingCase& c : found.failing)
        streaks[c.id + " " + to_string(c.variant)] = found.runs[c.since].run_id;
      EXPECT_EQ(streaks, streaks_by_hand(runs)) << seed;
    }
  }
}

// ---- The past that a page shows with a run ----

TEST_F(HistoryQuestionsTest, PastHasOnlyEarlierRuns) {
  auto runs = runs_of({kP, kF, kF, kP});
  set_fact(runs[1], "host.kernel", "6.2");
  set_fact(runs[2], "host.kernel", "6.2");
  History history = history_of(file_, runs);
  const auto past = past_of(history, runs[2]);
  ASSERT_TRUE(past) << past.error().what;
  ASSERT_THAT(past->runs, SizeIs(2));
  EXPECT_EQ(past->runs[0].run_id, "id-001");
  EXPECT_EQ(past->runs[1].run_id, "id-002");
  EXPECT_EQ(past->runs[1].commit, "c2");
  EXPECT_EQ(past->runs[1].stack, "host.kernel 6.1 -> 6.2");
  ASSERT_THAT(past->cases, SizeIs(1));
  ASSERT_THAT(past->cases[0], SizeIs(2));
  EXPECT_EQ(past->cases[0][0].result_class, ResultClass::kPassing);
  EXPECT_EQ(past->cases[0][1].result_class, ResultClass::kFailing);
  EXPECT_EQ(past->cases[0][1].run, 1U);
  EXPECT_EQ(past->cases[0][1].duration_ms, 1002);
  EXPECT_FALSE(past->flakiness[0]);
}

TEST_F(HistoryQuestionsTest, FindsLastGreenRunOfHost) {
  auto runs = runs_of({kP, kP, kP, kF, kF, kP});
  for (const std::size_t red : {3U, 4U}) runs[red].verdict = RunVerdict::kFailed;
  for (const std::size_t newer : {3U, 4U, 5U}) set_fact(runs[newer], "kmd.nvidia", "580.95.05");
  for (const std::size_t older : {0U, 1U, 2U}) set_fact(runs[older], "kmd.nvidia", "580.65.06");
  runs[2].devices.front().host = "gpu-02";
  set_branch(runs[1], "other");
  History history = history_of(file_, runs);
  const auto green = last_green_run(history, runs[4], "gpu-01");
  ASSERT_TRUE(green) << green.error().what;
  ASSERT_TRUE(*green);
  EXPECT_EQ((*green)->run_id,
            "id-002");  // the last run of this host, on any branch, and before the given run
  EXPECT_EQ((*green)->commit, "c2");
  EXPECT_EQ(to_string((*green)->stack_changes), "kmd.nvidia 580.65.06 -> 580.95.05");
  EXPECT_EQ((*last_green_run(history, runs[4], "gpu-02"))->run_id, "id-003");
  EXPECT_FALSE(*last_green_run(history, runs[4], "gpu-03"));
  EXPECT_FALSE(*last_green_run(history, runs[0], "gpu-01"));
  auto simulated = runs[4];
  simulated.simulated = true;
  EXPECT_FALSE(*last_green_run(history, simulated, "gpu-01"));
}

TEST_F(HistoryQuestionsTest, PastHasLastFiftyOutcomesPerCase) {
  std::vector<RunResults> runs;
  for (int number = 1; number <= 70; ++number) {
    std::vector<MadeCase> cases = {{"a/always"}};
    if (number % 10 == 0) cases.push_back({"a/seldom", kF});
    runs.push_back(made_run(number, cases));
  }
  History history = history_of(file_, runs);
  RunResults run = made_run(71, {{"a/new"}, {"a/seldom"}, {"a/always"}});
  const auto past = past_of(history, run);
  ASSERT_TRUE(past) << past.error().what;
  EXPECT_THAT(past->cases[0], IsEmpty());
  EXPECT_THAT(past->cases[1], SizeIs(7));
  ASSERT_THAT(past->cases[2], SizeIs(kMostOutcomes));
  EXPECT_EQ(past->runs[past->cases[2].back().run].run_id, "id-070");
  EXPECT_EQ(past->runs[past->cases[2].front().run].run_id, "id-021");
  ASSERT_TRUE(past->flakiness[2]);
  EXPECT_EQ(past->flakiness[2]->runs, 70);
  EXPECT_FALSE(past->flakiness[1]);
}

TEST_F(HistoryQuestionsTest, PastOfNewBranchUsesNewestRun) {
  auto runs = runs_of({kP, kF, kP});
  set_branch(runs[2], "topic");
  History history = history_of(file_, {runs[0], runs[1]});
  EXPECT_THAT(past_of(history, runs[2])->cases[0], SizeIs(2));
  RunResults other = made_run(4, {{"a/one"}});
  set_branch(other, "topic");
  EXPECT_TRUE(add_one(history, runs[2]));
  EXPECT_THAT(past_of(history, other)->cases[0], SizeIs(1));
}

// ---- A run of a commit ----

TEST_F(HistoryQuestionsTest, FindsCommitByPrefix) {
  auto runs = runs_of({kP, kF, kP});
  set_commit(runs[0], "abc111");
  set_commit(runs[1], "abc222");
  set_commit(runs[2], "abc222");
  History history = history_of(file_, runs);
  const auto found = results_at(history, "abc2");
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->run_id, "id-003");  // the newest run of this commit
  const auto several = results_at(history, "abc");
  ASSERT_FALSE(several);
  EXPECT_THAT(several.error().what, HasSubstr("2 of its commits begin so"));
  const auto none = results_at(history, "0123");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().hint, HasSubstr("abc222"));
  EXPECT_FALSE(results_at(history, ""));
}

TEST_F(HistoryQuestionsTest, JoinsShardsOfOneCommit) {
  std::vector<RunResults> runs = {made_run(1, {{"a/one", kF}}), made_run(2, {{"a/two"}}),
                                  made_run(3, {{"a/one"}}), made_run(4, {{"a/two", kF}})};
  for (RunResults& run : runs) set_commit(run, "abc");
  RunResults other_plan = made_run(5, {{"a/three"}});
  set_commit(other_plan, "abd");
  runs.push_back(other_plan);
  History history = history_of(file_, runs);
  const auto found = results_at(history, "abc");
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_THAT(found->cases, SizeIs(2));
  EXPECT_EQ(found->cases[0].id, "a/one");
  EXPECT_EQ(found->cases[0].result_class, ResultClass::kPassing);
  EXPECT_EQ(found->cases[1].result_class, ResultClass::kFailing);
  EXPECT_EQ(found->causes[found->cases[1].cause].text, "expected 4 bytes");
  EXPECT_THAT(found->variants, SizeIs(1));
}

}  // namespace
}  // namespace proctor
