#include "harness/journal/outcome_meaning.h"

#include <gtest/gtest.h>

#include "harness/journal/exit_code.h"

namespace proctor {
namespace {

TEST(OutcomeMeaning, WhatWasNotRunAndAnUnexpectedPassAreGreenNowhere) {
  for (const OutcomeMeaning& row : outcome_meanings()) {
    EXPECT_FALSE(row.words.empty());
    if (row.outcome == Outcome::kPass) continue;
    SCOPED_TRACE(row.words);
    EXPECT_NE(row.standing, Standing::kPassing);
    EXPECT_NE(row.shade, Shade::kGreen);
    EXPECT_TRUE(row.outcome != Outcome::kNotrun || row.run != RunCode::kGreen);
  }
}

TEST(OutcomeMeaning, TheReasonAndTheKindChooseTheRow) {
  const auto code = [](Outcome outcome, const ReasonText& reason, std::string_view kind = {}) {
    return exit_code_of(meaning_of({outcome, reason}, kind).run);
  };
  EXPECT_EQ(code(Outcome::kError, Reason::kNoResult), kExitRed);
  EXPECT_EQ(code(Outcome::kError, Reason::kProtocol), kExitRed);
  EXPECT_EQ(code(Outcome::kError, Reason::kGuardLost), kExitMachine);
  EXPECT_EQ(code(Outcome::kNotrun, Reason::kBudget), kExitIncomplete);
  EXPECT_EQ(code(Outcome::kNotrun, Reason::kDeviceUnhealthy), kExitMachine);
  EXPECT_EQ(code(Outcome::kXpass, "", "proctor"), kExitRed);
  EXPECT_EQ(code(Outcome::kXpass, "", "pytest"), kExitGreen);
  for (const Outcome outcome : kAllOutcomes) {
    for (const std::string_view kind : {"proctor", "pytest"}) {
      EXPECT_EQ(meaning_of({outcome, ""}, kind).outcome, outcome);
      EXPECT_EQ(meaning_of({outcome, ""}, kind).run != RunCode::kGreen, is_bad(outcome, kind));
    }
  }
}

}  // namespace
}  // namespace proctor
