#include "reports/resolve/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;

AttemptEnded failing(const std::string& id, const std::string& message, const std::string& file, int line) {
  AttemptEnded end = ended(id, {Outcome::kFail, ""});
  end.failures = {{"", message, file, line, "", "", ""}};
  return end;
}

AttemptEnded hanging(const std::string& id, std::optional<StackFrame> frame) {
  AttemptEnded end = ended(id, {Outcome::kTimeout, ""});
  end.failures.clear();
  end.evidence = {};
  end.evidence.frame = std::move(frame);
  return end;
}

std::size_t causes_of(const std::vector<AttemptEnded>& ends) {
  std::vector<PlannedCase> cases;
  for (const AttemptEnded& end : ends) cases.push_back(planned(end.case_id));
  std::vector<Event> events = {plan_of(std::move(cases))};
  for (const AttemptEnded& end : ends) {
    events.push_back(started(end.case_id));
    events.push_back(end);
  }
  const ResolvedRun run = resolved_of(events);
  std::set<std::string> keys;
  for (const ResolvedCase& test : run.cases) keys.insert(cause_key(test));
  return keys.size();
}

TEST(Cause, SourceLineSeparatesEqualMessages) {
  EXPECT_EQ(causes_of({failing("s/a", "expected 1", "a.cc", 3), failing("s/b", "expected 1", "a.cc", 4)}),
            2u);
}

TEST(Cause, SourceLineGroupsDifferentMessages) {
  EXPECT_EQ(causes_of({failing("s/a", "read x", "a.cc", 3), failing("s/b", "read y", "a.cc", 3)}), 1u);
}

// The headline cuts one of the messages in its numbers.
TEST(Cause, NumbersInLongMessagesAreIgnored) {
  const std::string words(195, 'x');
  EXPECT_EQ(causes_of({failing("s/a", words + " 7 and more", "", 0),
                       failing("s/b", words + " 12345 and more", "", 0)}),
            1u);
}

TEST(Cause, LongMessagesAreComparedBeyondHeadline) {
  const std::string words(400, 'x');
  EXPECT_EQ(causes_of({failing("s/a", words + " here", "", 0), failing("s/b", words + " there", "", 0)}), 2u);
}

TEST(Cause, HangsAreGroupedByFunction) {
  EXPECT_EQ(causes_of({hanging("s/a", StackFrame{"wait_for_copy", "q.cc:3"}),
                       hanging("s/b", StackFrame{"wait_for_event", "q.cc:9"}),
                       hanging("s/c", StackFrame{"wait_for_copy", "q.cc:3"})}),
            2u);
}

TEST(Cause, PlaceIsFailureOrStackFrame) {
  Attempt attempt;
  attempt.end = failing("s/a", "x", "src/a.cc", 3);
  EXPECT_EQ(to_string(place_of(attempt)), "src/a.cc:3");
  attempt.end = hanging("s/a", StackFrame{"wait_for_copy", "src/q.cc:40"});
  EXPECT_EQ(to_string(place_of(attempt)), "wait_for_copy at src/q.cc:40");
  attempt.end = hanging("s/a", StackFrame{"wait_for_copy", ""});
  EXPECT_EQ(to_string(place_of(attempt)), "wait_for_copy");
  attempt.end = hanging("s/a", StackFrame{"run", "C:\\a.py"});
  EXPECT_EQ(to_string(place_of(attempt)), "run at C:\\a.py");
  attempt.end = hanging("s/a", {});
  EXPECT_EQ(to_string(place_of(attempt)), "");
}

TEST(Cause, SortsNewFirstAndFlakyLast) {
  std::vector<Event> events = {
      plan_of({planned("s/flaky"), planned("s/old"), planned("s/old2"), planned("s/new")})};
  events.push_back(started("s/flaky"));
  events.push_back(failing("s/flaky", "x", "a.cc", 1));
  events.push_back(started("s/flaky", 2));
  events.push_back(ended("s/flaky", {Outcome::kPass, ""}, 2));
  events.push_back(concluded("s/flaky", {Outcome::kPass, ""}, {Mark::kFlaky}));
  for (const auto& [id, line] : {std::pair("s/old", 2), std::pair("s/old2", 2), std::pair("s/new", 3)}) {
    events.push_back(started(id));
    events.push_back(failing(id, "x", "a.cc", line));
  }
  events.push_back(CasePast{"s/old", 3, 2, 0, "abc", ""});
  events.push_back(CasePast{"s/new", 3, 0, 0, "", "abc"});
  const ResolvedRun run = resolved_of(events);
  const auto groups = run.causes;
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_TRUE(groups[0].is_new);
  EXPECT_EQ(groups[0].cases.front()->planned.id, "s/new");
  EXPECT_EQ(groups[1].cases.size(), 2u);
  EXPECT_TRUE(groups[2].is_flaky);
}

TEST(Cause, AgeIsAgeOfOldestCase) {
  std::vector<Event> events = {plan_of({planned("s/old"), planned("s/older"), planned("s/new")})};
  for (const char* id : {"s/old", "s/older", "s/new"}) {
    events.push_back(started(id));
    events.push_back(failing(id, "x", "a.cc", 2));
  }
  events.push_back(CasePast{"s/old", 3, 1, 0, "def", ""});
  events.push_back(CasePast{"s/older", 3, 2, 0, "abc", ""});
  events.push_back(CasePast{"s/new", 3, 0, 0, "", "def"});
  const ResolvedRun run = resolved_of(events);
  const auto groups = run.causes;
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_FALSE(groups[0].is_new);
  EXPECT_EQ(age_of(groups[0]), "first failed in abc (3 runs), 1 of 3 cases NEW");
  const CauseGroup one{.cases = {run.find("s/new")}, .is_new = true};
  EXPECT_EQ(age_of(one), "NEW: passed in def");
}

TEST(Cause, WholeMessageKeepsAllLines) {
  const auto end = failing("s/a", "line one\nline two " + std::string(500, 'x'), "a.cc", 3);
  const ResolvedRun run = resolved_of({plan_of({planned("s/a")}), started("s/a"), end});
  EXPECT_EQ(whole_message(run.cases[0]), end.failures[0].message);
}

TEST(GtestMessage, MovesTestMessageToFront) {
  const std::string equality = "Expected equality of these values:\n  sum\n    Which is: 6\n  7";
  EXPECT_EQ(describe_test_first(equality + "\nrow 3\nof 9"), "row 3\nof 9\n" + equality);
  const std::string diff = equality + "\nWith diff:\n@@ -1,2 +1,2 @@\n a\n-b\n+c";
  EXPECT_EQ(describe_test_first(diff + "\nin the header\n"), "in the header\n" + diff);
  const std::string truth = "Value of: is_ready\n  Actual: false\nExpected: true";
  EXPECT_EQ(describe_test_first(truth + "\nafter 3 s"), "after 3 s\n" + truth);
  const std::string match = "Value of: list\nExpected: is empty\n  Actual: { 1 }, whose size is 1";
  EXPECT_EQ(describe_test_first(match + "\nof devices"), "of devices\n" + match);
  const std::string less = "Expected: (a) < (b), actual: 3 vs 2";
  EXPECT_EQ(describe_test_first(less + "\nlatency"), "latency\n" + less);
  const std::string near =
      "The difference between a and b is 1, which exceeds 0.5, where\na evaluates to 1,\nb evaluates to 2, "
      "and\n"
      "0.5 evaluates to 0.5.";
  EXPECT_EQ(describe_test_first(near + "\nloss"), "loss\n" + near);
  EXPECT_EQ(describe_test_first("Failed\nno such card"), "no such card");
}

TEST(GtestMessage, KeepsMessageWithoutTestText) {
  for (const char* message :
       {"", "\n", "Failed", "Expected equality of these values:\n  a\n  b", "own\nwords",
        "Value of: x\n  Actual: false", "Expected: (a) < (b), actual: 3 vs 2\n \n"})
    EXPECT_EQ(describe_test_first(message), message);
}

}  // namespace

}  // namespace proctor
