#include "harness/runner/attempt/case_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string_view>

#include "harness/base/words.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Invalid = CaseGroup::Invalid;

const Verdict kPassed{Outcome::kPass, ""};
const Verdict kCrash{Outcome::kCrash, {Reason::kSignal, 11}};

class CaseGroupTest : public testing::Test {
 protected:
  void add(int cases, RepeatPolicy policy = {}) {
    for (int i = 0; i < cases; ++i) group_.add(10 + static_cast<std::size_t>(i), policy);
  }
  void add_others(int cases, RepeatPolicy policy = {}) {
    for (int i = 0; i < cases; ++i) group_.add(20 + static_cast<std::size_t>(i), policy);
  }
  // Returns the cases of the next process as "10.1 11.1": index.attempt.
  std::string next() {
    std::string text;
    for (const CaseGroup::Execution& execution : group_.next_process()) {
      text += text.empty() ? "" : " ";
      text += std::to_string(execution.index) + "." + std::to_string(execution.attempt);
    }
    return text;
  }
  std::string ended(std::size_t which, const Verdict& verdict) {
    const auto finished = group_.attempt_ended(which, verdict, {}, false, false);
    return finished ? to_string(finished->verdict) : "goes on";
  }
  std::vector<std::string> process_ended(ProcessFate fate, const std::vector<std::size_t>& not_begun,
                                         const std::optional<CaseGroup::NoMore>& no_more = {},
                                         bool may_verify = true) {
    std::vector<std::string> lines;
    for (const auto& finished : group_.process_ended(fate, not_begun, no_more, may_verify))
      lines.push_back(std::to_string(finished.index) + " " + to_string(finished.verdict));
    return lines;
  }

  CaseGroup group_;
};

TEST_F(CaseGroupTest, TheRestGoesOnAfterACrash) {
  add(4);
  EXPECT_EQ(next(), "10.1 11.1 12.1 13.1");
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kCrash), "goes on") << "alone";
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {2, 3}), ElementsAre("10 pass"));
  EXPECT_EQ(next(), "12.1 13.1");
  EXPECT_EQ(ended(1, kPassed), "goes on") << "in whatever order the process ran them";
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), ElementsAre("12 pass", "13 pass"));
  EXPECT_EQ(next(), "11.2");
  EXPECT_EQ(ended(0, kCrash), "crash(signal:11)");
  EXPECT_TRUE(group_.empty());
}

// Cases 12 and 13 were bad in a process of four cases, and then passed alone twice.
class SameOrder : public CaseGroupTest {
 protected:
  SameOrder() {
    add(4);
    next();
    for (const std::size_t which : {0u, 1u}) ended(which, kPassed);
    for (const std::size_t which : {2u, 3u}) ended(which, kCrash);
    process_ended(ProcessFate::kEnded, {});
    for (int alone = 0; alone < 4; ++alone) {
      next();
      EXPECT_EQ(ended(0, kPassed), "goes on");
      process_ended(ProcessFate::kEnded, {});
    }
  }
  std::string marks(std::size_t which, const Verdict& verdict) {
    const auto finished = group_.attempt_ended(which, verdict, {}, false, false);
    if (!finished || !(finished->verdict == kPassed)) return "not pass";
    std::string words;
    for (const MarkWord& mark : finished->marks) words += (words.empty() ? "" : " ") + mark.text();
    return words;
  }
};

TEST_F(SameOrder, IsRepeatedOnceForAllThatFailedInIt) {
  EXPECT_EQ(next(), "10.1 11.1 12.4 13.4");
  EXPECT_TRUE(group_.is_silent(0) && group_.is_silent(1));
  EXPECT_FALSE(group_.is_silent(2) || group_.is_silent(3));
  EXPECT_EQ(marks(2, kPassed), "flaky");
  EXPECT_EQ(marks(3, kCrash), "flaky order_dependent");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {}), IsEmpty());
  EXPECT_TRUE(group_.empty());
}

TEST_F(SameOrder, ThatDoesNotComeAboutAgainShowsNothing) {
  next();
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {2, 3}), ElementsAre("12 pass", "13 pass"));
  EXPECT_TRUE(group_.empty());
}

TEST_F(SameOrder, IsNotRepeatedWhenTheRunEnds) {
  std::vector<std::string> left;
  for (const auto& finished : group_.give_up({{Outcome::kNotrun, Reason::kInterrupted}, "stopped"}))
    left.push_back(to_string(finished.verdict));
  EXPECT_THAT(left, ElementsAre("pass", "pass"));
}

TEST_F(CaseGroupTest, WhatFailsEveryOtherTimeIsFlakyAndDependsOnNothing) {
  add(2);
  next();
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kCrash), "goes on");
  process_ended(ProcessFate::kEnded, {});
  EXPECT_EQ(next(), "11.2");
  EXPECT_EQ(ended(0, kPassed), "goes on");
  process_ended(ProcessFate::kEnded, {});
  EXPECT_EQ(next(), "11.3");
  const auto finished = group_.attempt_ended(0, kCrash, {}, false, false);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->verdict, kPassed);
  EXPECT_THAT(finished->marks, ElementsAre(Mark::kFlaky));
  EXPECT_TRUE(group_.empty());
}

TEST_F(CaseGroupTest, TheFirstOfAProcessDependsOnNothing) {
  add(2);
  next();
  EXPECT_EQ(ended(0, kCrash), "goes on");
  EXPECT_EQ(ended(1, kPassed), "goes on");
  process_ended(ProcessFate::kEnded, {});
  EXPECT_EQ(next(), "10.2");
  const auto finished = group_.attempt_ended(0, kPassed, {}, false, false);
  ASSERT_TRUE(finished);
  EXPECT_THAT(finished->marks, ElementsAre(Mark::kFlaky));
}

TEST_F(CaseGroupTest, APassThatIsVerifiedWaitsAndSoDoOthersOfItsProcess) {
  add(1, {.verify = true});
  group_.add(20, {});
  group_.add(30, {});
  EXPECT_EQ(next(), "10.1 20.1 30.1");
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kPassed), "goes on");
  EXPECT_EQ(ended(2, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  EXPECT_EQ(next(), "10.2");
  EXPECT_EQ(ended(0, kPassed), "pass");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), ElementsAre("20 pass", "30 pass"));
  EXPECT_TRUE(group_.empty());
}

TEST_F(CaseGroupTest, APassThatIsVerifiedKeepsItsMarks) {
  add(1, {.verify = true});
  group_.add(20, {});
  next();
  group_.attempt_ended(0, kPassed, {Mark::kFlaky}, false, false);
  ended(1, kPassed);
  process_ended(ProcessFate::kEnded, {});
  EXPECT_EQ(next(), "10.2");
  const auto finished = group_.attempt_ended(0, kPassed, {}, false, false);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->marks, Marks{Mark::kFlaky});
}

TEST_F(CaseGroupTest, AfterAFailedVerificationAllPassesOfTheProcessAreVerified) {
  add(1, {.verify = true});
  group_.add(20, {.retries = 2});
  group_.add(30, {});
  next();
  for (const std::size_t which : {0u, 1u, 2u}) EXPECT_EQ(ended(which, kPassed), "goes on");
  process_ended(ProcessFate::kEnded, {});
  EXPECT_EQ(next(), "10.2");
  EXPECT_EQ(ended(0, kCrash), "fail(fails_alone)");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {}), IsEmpty());
  EXPECT_EQ(next(), "20.2");
  EXPECT_EQ(ended(0, kCrash), "fail(fails_alone)") << "it is no use to retry it";
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {}), IsEmpty());
  EXPECT_EQ(next(), "30.2");
  EXPECT_EQ(ended(0, kPassed), "pass");
  EXPECT_TRUE(group_.empty());
}

TEST_F(CaseGroupTest, AfterADeviceFailurePassesOfTheProcessRunAgain) {
  add(3);
  next();
  EXPECT_FALSE(group_.attempt_ended(0, kPassed, {}, false, false, {"xpu:0"}));
  EXPECT_FALSE(group_.attempt_ended(1, kCrash, {}, false, false, {"xpu:0"}));
  group_.invalidate_passes(Invalid::kDeviceFailed);
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {2}), IsEmpty());
  EXPECT_EQ(next(), "12.1");
  EXPECT_EQ(ended(0, kPassed), "pass");
  EXPECT_EQ(next(), "10.2");
  const auto finished = group_.attempt_ended(0, kPassed, {}, false, false);
  EXPECT_THAT(finished->marks, ElementsAre(Mark::kInvalidated));
}

TEST_F(CaseGroupTest, EachPassOfAnUnreliableOrLeakyProcessRunsAlone) {
  add(2);
  next();
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kPassed), "goes on");
  group_.invalidate_passes(Invalid::kUnreliable);
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  EXPECT_EQ(next(), "10.2");
  EXPECT_EQ(ended(0, {Outcome::kFail, Reason::kLeaky}), "fail(leaky)");
  EXPECT_EQ(next(), "11.2");
  EXPECT_EQ(ended(0, kPassed), "pass");
  EXPECT_TRUE(group_.empty());
}

TEST_F(CaseGroupTest, PassesCountWithTheEndOfTheirProcess) {
  add(2);
  next();
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), ElementsAre("10 pass", "11 pass"));
}

TEST_F(CaseGroupTest, WhenARunEndsAPassIsAPassAndAFailureAFailure) {
  add(1, {.verify = true});
  group_.add(20, {});
  next();
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kCrash), "goes on");
  std::vector<std::string> left;
  for (const auto& finished : group_.give_up({{Outcome::kNotrun, Reason::kInterrupted}, "stopped"}))
    left.push_back(to_string(finished.verdict));
  EXPECT_THAT(left, ElementsAre("pass", "crash(signal:11)"));
}

// Returns the rows of the table of outcomes in docs/explanation/batches.md, without spaces around the words.
std::vector<std::vector<std::string>> rows_of_the_page() {
  std::ifstream page(PROCTOR_SOURCE_DIR "/docs/explanation/batches.md");
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ") || line.starts_with("| ---")) continue;
    std::vector<std::string> words;
    for (const std::string_view word : split(std::string_view(line).substr(1), '|'))
      words.emplace_back(trimmed(word));
    if (words.size() < 6) continue;  // another table
    words.resize(6);
    rows.push_back(words);
  }
  if (!rows.empty()) rows.erase(rows.begin());  // the header row
  return rows;
}

Verdict verdict_of_word(const std::string& word) {
  const auto outcome = parse_outcome(word);
  EXPECT_TRUE(outcome) << word;
  return {outcome.value_or(Outcome::kError), {}};
}

// Returns the end of a case that has the outcome `beside` in a process after another case, and the outcomes `later` in
// the next processes.
CaseGroup::Finished become(const std::string& sibling, const std::vector<std::string>& later) {
  constexpr std::string_view kTainted = "invalidated ";
  const bool tainted = sibling.starts_with(kTainted);
  CaseGroup group;
  group.add(1, {});
  group.add(2, {.verify = !later.empty() && !tainted});
  group.next_process();
  EXPECT_TRUE(group.attempt_ended(0, kPassed, {}, false, true));
  const std::vector<std::string> where =
      tainted ? std::vector<std::string>{"xpu:0"} : std::vector<std::string>{};
  const Verdict first = verdict_of_word(tainted ? sibling.substr(kTainted.size()) : sibling);
  auto finished = group.attempt_ended(1, first, {}, false, false, where);
  if (tainted) group.invalidate_passes(Invalid::kDeviceFailed);
  const auto at_end = group.process_ended(ProcessFate::kEnded, {}, {});
  if (!at_end.empty()) finished = at_end.front();
  for (const std::string& word : later) {
    const std::size_t which = group.next_process().size() - 1;
    finished = group.attempt_ended(which, verdict_of_word(word), {}, false, false);
    group.process_ended(ProcessFate::kEnded, {}, {});
  }
  EXPECT_TRUE(finished && group.empty()) << sibling << ", then " << later.size();
  return finished.value_or(CaseGroup::Finished{});
}

TEST(BatchTable, EachRowOfThePageIsSo) {
  const auto rows = rows_of_the_page();
  EXPECT_GE(rows.size(), 15u);
  for (const auto& row : rows) {
    std::vector<std::string> later;
    for (std::size_t column : {1u, 2u, 3u}) {
      if (!row[column].empty()) later.push_back(row[column]);
    }
    const CaseGroup::Finished finished = become(row[0], later);
    EXPECT_EQ(to_string(finished.verdict), row[4]) << row[0] << ", " << row[1];
    std::string marks;
    for (const MarkWord& mark : finished.marks) marks += (marks.empty() ? "" : " ") + mark.text();
    EXPECT_EQ(marks, row[5]) << row[0] << ", " << row[1];
  }
}

TEST_F(CaseGroupTest, ABatchTakesTheFirstCases) {
  add(5);
  CaseGroup batch = group_.split(2);
  EXPECT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch.first(), 10u);
  EXPECT_EQ(group_.first(), 12u);
  EXPECT_EQ(next(), "12.1 13.1 14.1");
}

TEST_F(CaseGroupTest, ARetryRunsAloneAndLast) {
  add(3, {.retries = 1});
  EXPECT_EQ(next(), "10.1 11.1 12.1");
  EXPECT_EQ(ended(0, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {1, 2}), IsEmpty());
  EXPECT_EQ(next(), "11.1 12.1");
  EXPECT_EQ(ended(0, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {1}), IsEmpty());
  EXPECT_EQ(next(), "12.1");
  EXPECT_EQ(ended(0, kPassed), "pass");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  EXPECT_EQ(next(), "10.2");
  EXPECT_FALSE(group_.is_shared());
  EXPECT_EQ(ended(0, kPassed), "pass") << "nothing ran before it";
  EXPECT_EQ(next(), "11.2");
  EXPECT_EQ(ended(0, kCrash), "goes on") << "the first attempt was beside others, and cost no retry";
  EXPECT_EQ(next(), "11.3");
  EXPECT_EQ(ended(0, kCrash), "crash(signal:11)");
  EXPECT_TRUE(group_.empty());
}

TEST_F(CaseGroupTest, TheThirdAttemptWantsOtherDevices) {
  CaseGroup group;
  group.add(0, {.retries = 2});
  for (const bool elsewhere : {false, true}) {
    group.next_process();
    EXPECT_FALSE(group.needs_other_devices());
    EXPECT_FALSE(group.attempt_ended(0, {Outcome::kFail, ""}, {}, false, false, {"a"}));
    group.process_ended(ProcessFate::kEnded, {}, {});
    EXPECT_EQ(group.needs_other_devices(), elsewhere);
  }
  group.avoid({"a"});
  EXPECT_THAT(group.avoids(), testing::ElementsAre("a"));
  CaseGroup pinned;
  pinned.add(0, {.retries = 2});
  pinned.pin_to({"a"});
  for (int i = 0; i < 2; ++i) {
    pinned.next_process();
    pinned.attempt_ended(0, {Outcome::kFail, ""}, {}, false, false, {"a"});
  }
  EXPECT_FALSE(pinned.needs_other_devices()) << "it may have no other";
}

TEST_F(CaseGroupTest, AttemptsOnUnhealthyDevicesAreRepeatedOneByOne) {
  add(3);
  EXPECT_EQ(next(), "10.1 11.1 12.1");
  EXPECT_FALSE(group_.has_suspect());
  group_.invalidate(0, Invalid::kDeviceUnhealthy);
  group_.invalidate(2, Invalid::kDeviceUnhealthy);
  EXPECT_EQ(ended(1, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), ElementsAre("11 pass"));
  EXPECT_TRUE(group_.has_suspect());
  EXPECT_FALSE(group_.needs_other_devices()) << "nobody has tried them twice";
  EXPECT_EQ(next(), "10.2");
  EXPECT_TRUE(group_.has_suspect(0));
  EXPECT_EQ(ended(0, kPassed), "pass");
  EXPECT_EQ(next(), "12.2");
  EXPECT_EQ(ended(0, kCrash), "crash(signal:11)") << "it has no retries";
  EXPECT_TRUE(group_.empty());
}

TEST_F(CaseGroupTest, ARepeatSharesAProcessAgain) {
  add(2, {.repeat = 2});
  next();
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  EXPECT_EQ(next(), "10.1 11.1");
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {1}), ElementsAre("10 pass"));
}

TEST_F(CaseGroupTest, CasesThatAProcessLeavesOutHaveNoResult) {
  add(3);
  next();
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {1, 2}),
              ElementsAre("11 error(no_result)", "12 error(no_result)", "10 pass"));
}

TEST_F(CaseGroupTest, ACaseThatNeverBeginsGetsTwoProcesses) {
  add(5);
  next();
  EXPECT_EQ(ended(0, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kNeverBegan, {1, 2, 3, 4}), IsEmpty());
  EXPECT_EQ(next(), "11.1 12.1 13.1 14.1");
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {2, 3}), ElementsAre("11 pass"))
      << "this one did begin";
  next();
  EXPECT_EQ(ended(0, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kNeverBegan, {1}), IsEmpty());
  group_.add(20, {});
  EXPECT_EQ(next(), "14.1 20.1");
  EXPECT_EQ(ended(0, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kNeverBegan, {1}), ElementsAre("20 notrun(startup_failed)"));
}

TEST_F(CaseGroupTest, FailFastEndsWhatHasNotBegunButNotARetry) {
  add(3, {.retries = 1});
  next();
  EXPECT_EQ(ended(0, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {1, 2},
                            CaseGroup::NoMore{{Outcome::kNotrun, Reason::kFailFast}, ""}),
              ElementsAre("11 notrun(fail_fast)", "12 notrun(fail_fast)"));
  EXPECT_EQ(next(), "10.2");
}

TEST_F(CaseGroupTest, FailFastEndsCasesThatStandAlone) {
  add(4);
  next();
  group_.invalidate(0, Invalid::kUnreliable);
  group_.stand_alone();
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {1, 2, 3}), IsEmpty());
  EXPECT_EQ(next(), "10.2");
  EXPECT_TRUE(group_.has_more());
  EXPECT_EQ(ended(0, kCrash), "crash(signal:11)");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {},
                            CaseGroup::NoMore{{Outcome::kNotrun, Reason::kFailFast}, ""}),
              ElementsAre("11 notrun(fail_fast)", "12 notrun(fail_fast)", "13 notrun(fail_fast)"));
}

TEST_F(CaseGroupTest, ACaseThatRunsLastHasNoMoreBehindIt) {
  add(1);
  next();
  EXPECT_FALSE(group_.has_more());
}

TEST_F(CaseGroupTest, ATurnIsOverWhenAllAreAtTheSameRepeat) {
  add(2, {.repeat = 1000, .in_turns = true});
  group_.stand_alone();
  for (const char* turn : {"10.1", "11.1", "10.1", "11.1"}) {
    EXPECT_EQ(next(), turn);
    EXPECT_EQ(ended(0, kPassed), "goes on");
    EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
    EXPECT_EQ(group_.is_turn_over(), std::string_view(turn) == "11.1");
  }
}

TEST_F(CaseGroupTest, ACaseCanBeEndedWithTriesLeft) {
  add(2, {.retries = 1});
  next();
  EXPECT_EQ(ended(1, kCrash), "goes on");
  const auto finished = group_.end_now(1);
  EXPECT_EQ(finished.index, 11u);
  EXPECT_EQ(finished.verdict, kCrash);
  EXPECT_EQ(next(), "10.1");
}

TEST_F(CaseGroupTest, AnInvalidAttemptIsRepeatedAloneAndDoesNotCount) {
  add(3);
  EXPECT_EQ(next(), "10.1 11.1 12.1");
  group_.invalidate(0, Invalid::kUnreliable);
  group_.invalidate(1, Invalid::kUnreliable);
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {2}), IsEmpty());
  EXPECT_EQ(next(), "12.1") << "what never began is not tried again";
  EXPECT_EQ(ended(0, kPassed), "pass");
  EXPECT_EQ(next(), "10.2");
  const auto finished = group_.attempt_ended(0, kPassed, {}, false, false);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->verdict, kPassed);
  EXPECT_THAT(finished->marks, IsEmpty());
  EXPECT_EQ(next(), "11.2");
  EXPECT_EQ(ended(0, kCrash), "crash(signal:11)") << "it took no retry, and has none";
}

TEST_F(CaseGroupTest, CasesWithoutAResultShareAProcessOnceMoreWithoutThoseThatDidNotBegin) {
  add(5);
  EXPECT_EQ(next(), "10.1 11.1 12.1 13.1 14.1");
  for (const std::size_t which : {0u, 1u}) group_.invalidate(which, Invalid::kNoResult);
  EXPECT_EQ(ended(2, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {3, 4}), IsEmpty());
  EXPECT_EQ(next(), "10.2 11.2");
  group_.invalidate(0, Invalid::kNoResult);
  EXPECT_EQ(ended(1, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {}), IsEmpty());
  EXPECT_EQ(next(), "13.1 14.1") << "10 had its two shared processes";
}

TEST_F(CaseGroupTest, ProofsComeWhenAllOthersHaveEnded) {
  add(3);
  next();
  for (const std::size_t which : {0u, 1u, 2u}) EXPECT_EQ(ended(which, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {}), IsEmpty());
  EXPECT_EQ(next(), "10.2");
  EXPECT_EQ(ended(0, kPassed), "pass") << "nothing ran before it";
  EXPECT_FALSE(group_.only_proves());
  EXPECT_EQ(next(), "11.2");
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_FALSE(group_.only_proves());
  EXPECT_EQ(next(), "12.2") << "11 waits";
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_TRUE(group_.only_proves());
  EXPECT_EQ(next(), "11.3");
}

TEST_F(CaseGroupTest, WithoutTimeToVerifyAPassCountsAsItIs) {
  add(2, {.verify = true});
  add_others(1);
  EXPECT_EQ(next(), "10.1 11.1 20.1");
  for (std::size_t which = 0; which < 3; ++which) EXPECT_EQ(ended(which, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  EXPECT_EQ(next(), "10.2");
  EXPECT_TRUE(group_.is_verification());
  EXPECT_EQ(ended(0, kPassed), "pass");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}, {}, false), ElementsAre("11 pass", "20 pass"));
  EXPECT_TRUE(group_.empty());
}

TEST_F(CaseGroupTest, AfterAVerificationThatFailedAllAreVerifiedWhateverTheTime) {
  add(2, {.verify = true});
  next();
  for (std::size_t which = 0; which < 2; ++which) EXPECT_EQ(ended(which, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  EXPECT_EQ(next(), "10.2");
  EXPECT_EQ(ended(0, kCrash), "fail(fails_alone)");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}, {}, false), IsEmpty());
  EXPECT_EQ(next(), "11.2");
}

TEST_F(CaseGroupTest, AVerifiedCaseThatNeverBeginsHoldsNoOther) {
  add(1, {.verify = true});
  add_others(1);
  next();
  for (std::size_t which = 0; which < 2; ++which) EXPECT_EQ(ended(which, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  EXPECT_EQ(next(), "10.2");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {0}), ElementsAre("10 error(no_result)", "20 pass"));
  EXPECT_TRUE(group_.empty());
}

using Verification = CaseGroup::Verification;
using VerificationEvent = CaseGroup::VerificationEvent;

void check(Verification before, VerificationEvent event) {
  const bool is_last = event == VerificationEvent::kLastEnded;
  const std::size_t verified = !is_last ? 3 : before == Verification::kAll ? 2 : 1;
  CaseGroup group;
  for (std::size_t index = 0; index < verified; ++index) group.add(index, {.verify = true});
  group.add(verified, {});
  const auto run = [&group](const Verdict& verdict) {
    group.next_process();
    group.attempt_ended(0, verdict, {}, false, false);
  };
  const auto end = [&group] { group.process_ended(ProcessFate::kEnded, {}, {}); };
  group.next_process();
  for (std::size_t which = 0; which <= verified; ++which)
    group.attempt_ended(which, which < verified ? kPassed : kCrash, {}, false, false);
  end();
  if (before != Verification::kSample) run(kCrash);
  if (before == Verification::kAll) end();
  ASSERT_EQ(group.verification(), before);

  const auto after = CaseGroup::verification_after(before, event);
  if (!after) {
    ASSERT_EQ(event, VerificationEvent::kBad);
    EXPECT_THROW(run(kCrash), std::bad_optional_access) << "the previous process has not ended";
    return;
  }
  if (event == VerificationEvent::kBad) {
    run(kCrash);
  } else {
    if (before != Verification::kFailed) run(kPassed);
    end();
  }
  EXPECT_EQ(group.verification(), after);
}

TEST(CaseGroup, EachStateOfVerificationTakesOrRefusesEachEvent) {
  for (const Verification before : {Verification::kSample, Verification::kFailed, Verification::kAll}) {
    for (const VerificationEvent event :
         {VerificationEvent::kBad, VerificationEvent::kProcessEnded, VerificationEvent::kLastEnded}) {
      SCOPED_TRACE(testing::Message()
                   << "state " << static_cast<int>(before) << ", event " << static_cast<int>(event));
      check(before, event);
    }
  }
}

TEST_F(CaseGroupTest, CasesThatStandAloneShareNoProcess) {
  add(3);
  group_.stand_alone();
  for (const char* turn : {"10.1", "11.1", "12.1"}) {
    EXPECT_EQ(next(), turn);
    EXPECT_EQ(ended(0, kPassed), "pass");
    EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  }
  EXPECT_TRUE(group_.empty());
}

TEST_F(CaseGroupTest, GivingUpKeepsWhatABadRepeatHasProven) {
  add(2, {.repeat = 2});
  next();
  EXPECT_EQ(ended(0, kCrash), "goes on");
  const auto left = group_.give_up({{Outcome::kNotrun, Reason::kInterrupted}, "stopped"});
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].verdict, kCrash);
  EXPECT_EQ(to_string(left[1].verdict), "notrun(interrupted)");
  EXPECT_EQ(left[1].note, "stopped");
  EXPECT_TRUE(group_.empty());
}

// ---- Turns ----

TEST_F(CaseGroupTest, InTurnsNoneRepeatsBeforeAllHaveEndedTheirRepeat) {
  add(3, {.repeat = 1000, .in_turns = true});
  EXPECT_EQ(next(), "10.1 11.1 12.1");
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kCrash), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kDiedInCase, {2}), IsEmpty());
  EXPECT_FALSE(group_.is_turn_over());
  EXPECT_EQ(next(), "12.1") << "10 waits";
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  EXPECT_FALSE(group_.is_turn_over());
  EXPECT_EQ(next(), "11.2") << "alone";
  EXPECT_EQ(ended(0, kCrash), "goes on") << "a failure does not end it";
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {}), IsEmpty());
  EXPECT_TRUE(group_.is_turn_over());
  EXPECT_EQ(next(), "10.1 11.1 12.1") << "all share the next process";
}

TEST_F(CaseGroupTest, WithoutTurnsNoTurnIsOver) {
  add(1, {.repeat = 2});
  EXPECT_FALSE(group_.is_turn_over());
  next();
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_FALSE(group_.is_turn_over());
}

TEST_F(CaseGroupTest, WhatHasAWholeRepeatKeepsWhatItHasComeTo) {
  add(3, {.repeat = 1000, .in_turns = true});
  const CaseGroup::NoMore over{{Outcome::kNotrun, Reason::kRunLimit}, "over", true};
  next();
  EXPECT_EQ(ended(0, kPassed), "goes on");
  EXPECT_EQ(ended(1, kPassed), "goes on");
  EXPECT_THAT(process_ended(ProcessFate::kEnded, {2}, over), ElementsAre("12 notrun(run_limit)"));
  EXPECT_TRUE(group_.is_turn_over());
  const auto left = group_.give_up(over);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].verdict, kPassed);
  EXPECT_EQ(left[0].note, "");
  EXPECT_EQ(left[1].verdict, kPassed);
}

}  // namespace
}  // namespace proctor
