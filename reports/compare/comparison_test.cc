#include "reports/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace proctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Variant variant_of(const std::string& suite, bool simulated = false) {
  return {suite, "xpu", "", "Card", simulated};
}

CaseResult result_of(const std::string& id, ResultClass result_class) {
  CaseResult result;
  result.id = id;
  result.result_class = result_class;
  if (result_class == ResultClass::kNotrun) result.verdict.outcome = Outcome::kSkip;
  return result;
}

RunResults run_of(std::vector<CaseResult> cases) {
  RunResults run;
  run.variants = {variant_of("memory")};
  run.cases = std::move(cases);
  return run;
}

CaseResult measured(double value, double spread, const std::string& unit, std::int64_t n = 9) {
  CaseResult result = result_of("m/a", ResultClass::kPassing);
  result.measures = {{"speed", value, unit, n, spread}};
  return result;
}

std::vector<Change> changes_between(const RunResults& before, const RunResults& after) {
  std::vector<Change> changes;
  for (const CaseChange& change : compare(before, after).changes) changes.push_back(change.change);
  return changes;
}

std::vector<Change> changes_between(const CaseResult& before, const CaseResult& after) {
  return changes_between(run_of({before}), run_of({after}));
}

// Each state has one letter: Passing, Failing, eXpected, Unrun, and - for a missing case.
std::string change_of(char before, char after) {
  const std::map<char, ResultClass> standings = {{'P', ResultClass::kPassing},
                                                 {'F', ResultClass::kFailing},
                                                 {'X', ResultClass::kExpected},
                                                 {'U', ResultClass::kNotrun}};
  const auto run = [&](char state) {
    return state == '-' ? run_of({}) : run_of({result_of("m/a", standings.at(state))});
  };
  const auto changes = compare(run(before), run(after)).changes;
  return changes.empty() ? "" : std::string(to_string(changes.front().change));
}

TEST(ComparisonTest, ClassifiesEachPairOfStandings) {
  const std::string states = "PFXU-";
  const std::vector<std::vector<std::string>> expected = {
      {"", "regression", "xfail_now", "skipped_now", "disappeared"},
      {"fixed", "still_failing", "xfail_now", "skipped_now", "disappeared"},
      {"fixed", "regression", "", "skipped_now", "disappeared"},
      {"ran_again", "new_failing", "ran_again", "", "disappeared"},
      {"new_passing", "new_failing", "appeared", "appeared", ""}};
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (std::size_t j = 0; j < states.size(); ++j)
      EXPECT_EQ(change_of(states[i], states[j]), expected[i][j]) << states[i] << " -> " << states[j];
  }
}

TEST(ComparisonTest, UnreachedCaseIsNotRunNow) {
  CaseResult now = result_of("m/a", ResultClass::kNotrun);
  now.verdict.outcome = Outcome::kNotrun;
  for (const ResultClass result_class :
       {ResultClass::kPassing, ResultClass::kFailing, ResultClass::kExpected})
    EXPECT_THAT(changes_between(result_of("m/a", result_class), now), ElementsAre(Change::kNotRunNow));
  EXPECT_THAT(changes_between(result_of("m/a", ResultClass::kNotrun), now), IsEmpty());
}

TEST(ComparisonTest, ClassNamesAreUniqueAndParse) {
  std::set<std::string_view> names;
  for (const Change change : kAllChanges) {
    names.insert(to_string(change));
    EXPECT_EQ(parse_change(to_string(change)), change);
  }
  EXPECT_THAT(names, SizeIs(kAllChanges.size()));
  EXPECT_EQ(parse_change("regressed"), std::nullopt);
}

TEST(ComparisonTest, SortsChangesByClassThenNewerPlan) {
  const auto before =
      run_of({result_of("m/gone", ResultClass::kPassing), result_of("m/1", ResultClass::kPassing),
              result_of("m/2", ResultClass::kFailing), result_of("m/3", ResultClass::kPassing)});
  const auto after = run_of({result_of("m/3", ResultClass::kFailing), result_of("m/2", ResultClass::kPassing),
                             result_of("m/1", ResultClass::kFailing)});
  const Comparison comparison = compare(before, after);
  std::vector<std::string> found;
  for (const CaseChange& change : comparison.changes) {
    const std::string& id =
        change.after == kNotThere ? before.cases[change.before].id : after.cases[change.after].id;
    found.push_back(std::string(to_string(change.change)) + " " + id);
  }
  EXPECT_THAT(found, ElementsAre("regression m/3", "regression m/1", "fixed m/2", "disappeared m/gone"));
  EXPECT_EQ(comparison.compared, 3);
  EXPECT_EQ(comparison.unchanged, 0);
}

TEST(ComparisonTest, DoesNotCompareSimulationWithHardware) {
  const RunResults real = run_of({result_of("m/a", ResultClass::kPassing)});
  RunResults simulated = run_of({result_of("m/a", ResultClass::kFailing)});
  simulated.variants = {variant_of("memory", true)};
  const Comparison comparison = compare(real, simulated);
  EXPECT_THAT(comparison.changes, IsEmpty());
  EXPECT_EQ(comparison.compared, 0);
  EXPECT_THAT(comparison.only_before, ElementsAre(variant_of("memory")));
  EXPECT_THAT(comparison.only_after, ElementsAre(variant_of("memory", true)));
}

TEST(ComparisonTest, CasesOfMissingSuiteAppearOrDisappear) {
  RunResults before =
      run_of({result_of("m/a", ResultClass::kPassing), result_of("k/a", ResultClass::kPassing)});
  before.variants.push_back(variant_of("kernels"));
  before.cases[1].variant = 1;
  const RunResults after = run_of({result_of("m/a", ResultClass::kPassing)});
  EXPECT_THAT(changes_between(before, after), ElementsAre(Change::kDisappeared));
  EXPECT_THAT(compare(before, after).only_before, ElementsAre(variant_of("kernels")));
  EXPECT_THAT(changes_between(after, before), ElementsAre(Change::kNewPassing));
}

TEST(ComparisonTest, CaseWithoutVariantMatchesAnyVariant) {
  RunResults foreign = run_of({result_of("m/a", ResultClass::kPassing)});
  foreign.variants = {Variant()};
  const RunResults after = run_of({result_of("m/a", ResultClass::kFailing)});
  EXPECT_THAT(changes_between(foreign, after), ElementsAre(Change::kRegression));
  EXPECT_THAT(changes_between(after, foreign), ElementsAre(Change::kFixed));
  EXPECT_THAT(compare(foreign, after).only_after, IsEmpty());
}

TEST(ComparisonTest, ReportsFlakierInAdditionToClass) {
  CaseResult steady = result_of("m/a", ResultClass::kPassing);
  CaseResult flaky = steady;
  flaky.flaky = true;
  CaseResult failing = result_of("m/a", ResultClass::kFailing);
  EXPECT_THAT(changes_between(steady, flaky), ElementsAre(Change::kFlakier));
  EXPECT_THAT(changes_between(failing, flaky), ElementsAre(Change::kFixed, Change::kFlakier));
  EXPECT_THAT(changes_between(flaky, steady), ElementsAre(Change::kSteadier));
  EXPECT_THAT(changes_between(flaky, failing), ElementsAre(Change::kRegression));
  EXPECT_THAT(changes_between(flaky, flaky), IsEmpty());
}

TEST(ComparisonTest, UnitDeterminesSlowerOrFaster) {
  EXPECT_THAT(changes_between(measured(100, 1, "GB/s"), measured(90, 1, "GB/s")),
              ElementsAre(Change::kSlower));
  EXPECT_THAT(changes_between(measured(100, 1, "GB/s"), measured(110, 1, "GB/s")),
              ElementsAre(Change::kFaster));
  EXPECT_THAT(changes_between(measured(100, 1, "ms"), measured(110, 1, "ms")), ElementsAre(Change::kSlower));
  EXPECT_THAT(changes_between(measured(100, 1, "ns"), measured(90, 1, "ns")), ElementsAre(Change::kFaster));
}

TEST(ComparisonTest, MeasureWithinNoiseIsUnchanged) {
  // The combined standard error of twice 30 / sqrt(9) is 14.1. Three times 14.1 is more than 40.
  EXPECT_THAT(changes_between(measured(100, 30, "ms"), measured(140, 30, "ms")), IsEmpty());
  EXPECT_THAT(changes_between(measured(100, 30, "ms"), measured(150, 30, "ms")),
              ElementsAre(Change::kSlower));
  EXPECT_THAT(changes_between(measured(100, 0, "ms"), measured(104, 0, "ms")),
              IsEmpty());  // not more than 5 %
  EXPECT_THAT(changes_between(measured(100, 0, "ms", 1), measured(200, 0, "ms", 1)), IsEmpty());
  EXPECT_THAT(changes_between(measured(100, 0, "ulp"), measured(200, 0, "ulp")), IsEmpty());
  EXPECT_THAT(changes_between(measured(100, 0, "ms"), measured(200, 0, "ns")), IsEmpty());
}

TEST(ComparisonTest, IgnoresSpeedOfSimulatedDevices) {
  RunResults before = run_of({measured(100, 0, "ms")});
  RunResults after = run_of({measured(200, 0, "ms")});
  before.variants = after.variants = {variant_of("memory", true)};
  EXPECT_THAT(changes_between(before, after), IsEmpty());
}

TEST(ComparisonTest, ComparesOnlyFactsKnownInBothRuns) {
  RunResults before = run_of({}), after = run_of({});
  before.stack = {
      {"a", "1"}, {"b", "1"}, {"c", {}, "", "unreadable"}, {"d", {}, "", "no such layer", true}, {"e", "1"}};
  after.stack = {{"a", "1"}, {"b", "2"}, {"c", "1"}, {"d", "1"}, {"e", {}, "", "unreadable"}, {"f", "1"}};
  std::vector<std::string> moved;
  for (const FactChange& fact : compare(before, after).stack)
    moved.push_back(fact.name + " " + fact.before.value_or("-") + " " + fact.after.value_or("-"));
  EXPECT_THAT(moved, ElementsAre("b 1 2", "d - 1"));
}

TEST(ComparisonTest, ComparesOnlyProgramsWithTwoDigests) {
  RunResults before = run_of({}), after = run_of({});
  before.programs = {{"m", "xpu", "aa"}, {"m", "cuda", "aa"}, {"k", "xpu", ""}};
  after.programs = {{"m", "xpu", "bb"}, {"m", "cuda", "aa"}, {"k", "xpu", "cc"}, {"v", "xpu", "dd"}};
  const auto programs = compare(before, after).programs;
  ASSERT_THAT(programs, SizeIs(1));
  EXPECT_EQ(programs[0].suite + "." + programs[0].backend, "m.xpu");
}

}  // namespace
}  // namespace proctor
