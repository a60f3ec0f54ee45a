#include "harness/runner/attempt/case_tracker.h"

#include <gtest/gtest.h>

#include "harness/base/json.h"
#include "harness/runner/attempt/attempt_plan.h"

namespace proctor {
namespace {

using Received = CaseTracker::Received;
using Indices = std::vector<std::size_t>;

class CaseTrackerTest : public ::testing::Test {
 protected:
  // Returns the plan of a process with `count` cases, named "a", "b" and so on.
  AttemptPlan plan_of(std::size_t count) {
    static constexpr const char* kNames[] = {"a", "b", "c"};
    AttemptPlan plan{
        .suite = &suite_, .cases = {}, .devices = {}, .leases = {}, .environment = {}, .ranks = {}};
    for (std::size_t i = 0; i < count; ++i) tests_[i].id = std::string("s/") + kNames[i];
    for (std::size_t i = 0; i < count; ++i) plan.cases.push_back({.test = &tests_[i]});
    return plan;
  }
  std::string line(const AttemptPlan& plan, std::size_t which, const char* event) {
    nlohmann::json fields = {{"case", plan.kind().name_for_child(*plan.cases[which].test)}};
    if (std::string(event) == "end") fields["result"] = "pass";
    return event_line(event, fields);
  }

  Suite suite_;
  Case tests_[3];
  Clock::time_point now_{};
};

TEST_F(CaseTrackerTest, SharedCaseBeginsAtOwnStartEvent) {
  const AttemptPlan plan = plan_of(3);
  CaseTracker cases(plan, /*starting=*/true);
  EXPECT_TRUE(cases.none_began());
  EXPECT_EQ(cases.blamed().test->id, "s/a");
  ASSERT_EQ(cases.begun_by(line(plan, 1, "start")), 1U);
  cases.listen_to(1);
  cases.begin({.which = 1});
  EXPECT_FALSE(cases.is_starting());
  EXPECT_EQ(cases.begun_by(line(plan, 1, "start")), std::nullopt);
  EXPECT_EQ(cases.begun_by(line(plan, 1, "end")), std::nullopt);
  EXPECT_EQ(cases.blamed().test->id, "s/b");
  EXPECT_EQ(cases.not_begun(), (Indices{0, 2}));
  EXPECT_EQ(cases.begun(), std::vector<std::string>{"s/b"});
}

TEST_F(CaseTrackerTest, ContradictionKeepsOnlyFailures) {
  const AttemptPlan plan = plan_of(3);
  for (const char* event : {"start", "end"}) {
    CaseTracker cases(plan, /*starting=*/false);
    cases.begin({.which = 0});
    cases.add_line(line(plan, 0, "start"), now_);
    cases.add_line(line(plan, 0, "end"), now_);
    cases.close(Outcome::kPass);
    cases.listen_to(1);
    cases.begin({.which = 1});
    cases.add_line(line(plan, 1, "start"), now_);
    EXPECT_FALSE(cases.is_unproven());
    EXPECT_EQ(cases.add_line(line(plan, 0, event), now_), Received::kContradiction) << event;
    EXPECT_EQ(cases.add_line(line(plan, 0, event), now_), Received::kNothing) << "it was reported";
    EXPECT_NE(cases.why_unreliable(), "");
    EXPECT_TRUE(cases.is_unproven());
    cases.close(Outcome::kError);
    EXPECT_EQ(cases.unproven(), std::set<std::size_t>{1});
    cases.listen_to(2);
    cases.begin({.which = 2});
    cases.add_line(event_line("fail", {{"case", "c"}, {"message", "no"}}), now_);
    EXPECT_FALSE(cases.is_unproven()) << "a reported failure counts";
  }
}

TEST_F(CaseTrackerTest, ContradictionNeedsSeveralBegunCases) {
  const AttemptPlan one = plan_of(1);
  CaseTracker alone(one, /*starting=*/false);
  alone.begin({.which = 0});
  EXPECT_EQ(alone.add_line("no event", now_), Received::kNothing);
  const AttemptPlan two = plan_of(2);
  CaseTracker early(two, /*starting=*/false);
  EXPECT_EQ(early.add_line("no event", now_), Received::kNothing);
  EXPECT_EQ(early.why_unreliable(), "");
}

TEST_F(CaseTrackerTest, CaseReportsOnceBeforeProcessEnds) {
  const AttemptPlan plan = plan_of(2);
  CaseTracker cases(plan, /*starting=*/false);
  cases.begin({.which = 0});
  EXPECT_EQ(cases.add_line(line(plan, 0, "start"), now_), Received::kNothing);
  EXPECT_EQ(cases.add_line(line(plan, 0, "end"), now_), Received::kReported);
  EXPECT_TRUE(cases.open()->reported);
  cases.close(Outcome::kFail);
  EXPECT_TRUE(cases.another_was_bad());
  cases.listen_to(1);
  cases.begin({.which = 1});
  cases.process_is_ending();
  EXPECT_EQ(cases.add_line(line(plan, 1, "end"), now_), Received::kNothing);
  EXPECT_FALSE(cases.open()->reported);
}

TEST_F(CaseTrackerTest, LateEventAddsNoDuration) {
  const AttemptPlan plan = plan_of(2);
  CaseTracker cases(plan, /*starting=*/false);
  cases.begin({.which = 0, .started = now_ + Milliseconds(7)});
  EXPECT_EQ(cases.lasted(now_), Milliseconds(0)) << "it called exit(), and was heard of later";
  EXPECT_EQ(cases.lasted(now_ + Milliseconds(9)), Milliseconds(2));
  cases.add_line(line(plan, 0, "end"), now_ + Milliseconds(8));
  EXPECT_EQ(cases.lasted(now_ + Milliseconds(9)), Milliseconds(1));
}

TEST_F(CaseTrackerTest, SingleCaseStartEventEndsStartup) {
  const AttemptPlan plan = plan_of(1);
  CaseTracker cases(plan, /*starting=*/true);
  cases.begin({.which = 0});
  EXPECT_EQ(cases.begun_by(line(plan, 0, "start")), std::nullopt);
  EXPECT_EQ(cases.add_line(line(plan, 0, "start"), now_), Received::kStarted);
  EXPECT_EQ(cases.add_line(line(plan, 0, "start"), now_), Received::kNothing);
  EXPECT_FALSE(cases.is_starting());
  EXPECT_TRUE(cases.begun().empty());
}

}  // namespace
}  // namespace proctor
