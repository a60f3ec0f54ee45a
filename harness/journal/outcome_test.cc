#include "harness/journal/outcome.h"

#include <gtest/gtest.h>

#include <set>

namespace proctor {
namespace {

TEST(Outcome, NamesRoundTripAndAreDistinct) {
  std::set<std::string_view> names;
  for (const Outcome outcome : kAllOutcomes) {
    EXPECT_EQ(parse_outcome(to_string(outcome)), outcome);
    names.insert(to_string(outcome));
  }
  EXPECT_EQ(names.size(), kAllOutcomes.size());
  EXPECT_EQ(parse_outcome("passed"), std::nullopt);
  EXPECT_EQ(parse_outcome(""), std::nullopt);
}

TEST(Outcome, VerdictPrintsItsReason) {
  EXPECT_EQ(to_string(Verdict{Outcome::kCrash, {Reason::kSignal, 11}}), "crash(signal:11)");
  EXPECT_EQ(to_string(Verdict{Outcome::kPass, ""}), "pass");
}

TEST(Outcome, ExactlyTheGoodOutcomesAreNobodysProblem) {
  for (const Outcome outcome : kAllOutcomes) {
    EXPECT_EQ(is_bad(outcome, "proctor"), blame_of({outcome, ""}) != Blame::kNobody) << to_string(outcome);
  }
}

TEST(Outcome, AnUnexpectedPassIsBadInOurOwnSuitesOnly) {
  for (const Outcome outcome : kAllOutcomes) {
    EXPECT_EQ(is_bad(outcome, "pytest"), is_bad(outcome)) << to_string(outcome);
    EXPECT_EQ(is_bad(outcome, "proctor"), is_bad(outcome) || outcome == Outcome::kXpass)
        << to_string(outcome);
  }
  EXPECT_FALSE(is_bad(Outcome::kXpass));
}

TEST(Outcome, WhatAnotherMachineWouldSayAsWellIsNotTheMachines) {
  for (const char* reason : {"no_result", "result_mismatch", "protocol", "discovery", "spawn:ENOENT",
                             "spawn:EACCES", "spawn:ENOEXEC"}) {
    EXPECT_FALSE(is_machine_outcome({Outcome::kError, reason_in_words(reason)})) << reason;
    EXPECT_NE(blame_of({Outcome::kError, reason_in_words(reason)}), Blame::kMachine) << reason;
  }
  for (const char* reason : {"spawn:EAGAIN", "spawn:ENOMEM", "guard_lost", "mask_mismatch", "ranks", ""}) {
    EXPECT_TRUE(is_machine_outcome({Outcome::kError, reason_in_words(reason)})) << reason;
    EXPECT_EQ(blame_of({Outcome::kError, reason_in_words(reason)}), Blame::kMachine) << reason;
  }
}

TEST(Outcome, TheReasonDecidesWhoseProblemItIs) {
  EXPECT_EQ(blame_of({Outcome::kFail, ""}), Blame::kCode);
  EXPECT_EQ(blame_of({Outcome::kFail, Reason::kSetup}), Blame::kSetup);
  EXPECT_EQ(blame_of({Outcome::kCrash, {Reason::kSignal, 11}}), Blame::kCode);
  EXPECT_EQ(blame_of({Outcome::kCrash, Reason::kOomHost}), Blame::kMachine);
  EXPECT_EQ(blame_of({Outcome::kError, Reason::kNoResult}), Blame::kCode);
  EXPECT_EQ(blame_of({Outcome::kError, {Reason::kSpawn, "ENOENT"}}), Blame::kSetup);
  EXPECT_EQ(blame_of({Outcome::kError, Reason::kGuardLost}), Blame::kMachine);
  EXPECT_EQ(blame_of({Outcome::kNotrun, Reason::kDeviceLost}), Blame::kMachine);
  EXPECT_EQ(blame_of({Outcome::kNotrun, Reason::kDeviceUnhealthy}), Blame::kMachine);
  EXPECT_EQ(blame_of({Outcome::kNotrun, Reason::kBreaker}), Blame::kMachine);
}

}  // namespace
}  // namespace proctor
