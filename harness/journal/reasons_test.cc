#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/journal/events.h"

namespace proctor {
namespace {

using ::testing::HasSubstr;

// A verdict of the row: with any value where it takes one.
Verdict verdict_in(const ReasonMeaning& row, Outcome outcome) {
  std::string text(row.spelling);
  if (text.ends_with('*')) text.back() = '7';
  return {outcome, reason_in_words(text)};
}

// A row is found again by what it is spelled like, with each of its outcomes and with no other.
TEST(Reasons, EachIsFoundByItsSpelling) {
  for (const ReasonMeaning& row : reason_meanings()) {
    for (const Outcome outcome : kAllOutcomes) {
      const bool is_its = outcome == row.outcomes[0] || outcome == row.outcomes[1];
      const ReasonMeaning* found = meaning_of_reason(verdict_in(row, outcome));
      EXPECT_EQ(found == &row, is_its) << row.spelling << " of " << to_string(outcome);
    }
    EXPECT_TRUE(verdict_in(row, row.outcomes[0]).reason == row.reason) << row.spelling;
  }
}

TEST(Reasons, TheJournalSpellsThemAsTheTable) {
  for (const ReasonMeaning& row : reason_meanings()) {
    CaseEnded written;
    written.verdict = verdict_in(row, row.outcomes[0]);
    const std::string line = to_json_line(written);
    EXPECT_THAT(line, HasSubstr(written.verdict.reason.text()));
    EXPECT_EQ(std::get<CaseEnded>(**parse_json_line(line)).verdict, written.verdict);
  }
}

TEST(Reasons, AValueStandsBehindTheName) {
  const ReasonText killed(Reason::kSignal, 11);
  EXPECT_EQ(killed.text(), "signal:11");
  EXPECT_EQ(killed.value_of(Reason::kSignal), "11");
  EXPECT_EQ(killed.value_of(Reason::kExit), std::nullopt);
  EXPECT_EQ(ReasonText(Reason::kBudget).text(), "budget");
  EXPECT_TRUE(ReasonText("").empty());
  EXPECT_NE(reason_in_words("signals"), Reason::kSignal);
}

TEST(Reasons, WhatIsNotKnownIsAsItsOutcome) {
  const auto read = parse_json_line(
      R"({"type":"case_ended","verdict":{"outcome":"notrun","reason":"of_a_later_version:3"}})");
  const Verdict verdict = std::get<CaseEnded>(**read).verdict;
  EXPECT_EQ(to_string(verdict), "notrun(of_a_later_version:3)");
  EXPECT_EQ(meaning_of_reason(verdict), nullptr);
  EXPECT_EQ(blame_of(verdict), blame_of({Outcome::kNotrun, ""}));
  EXPECT_EQ(meaning_of_reason({Outcome::kCrash, Reason::kBudget}), nullptr);  // of another outcome
}

TEST(Reasons, WordsHaveTheValue) {
  const auto words = [](Outcome outcome, const ReasonText& reason) {
    return words_of_reason(*meaning_of_reason({outcome, reason}), reason);
  };
  EXPECT_EQ(words(Outcome::kFail, {Reason::kExit, 3}), "exited with code 3");
  EXPECT_EQ(words(Outcome::kCrash, {Reason::kSignal, 11}), "killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(words(Outcome::kError, {Reason::kSpawn, "ENOENT"}), "could not be started: ENOENT");
  EXPECT_THAT(words(Outcome::kError, {Reason::kSpawn, "ENOEXEC"}), HasSubstr(kNoProgram));
}

}  // namespace
}  // namespace proctor
