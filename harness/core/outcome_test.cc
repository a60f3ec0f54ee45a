#include "harness/core/outcome.h"

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
  EXPECT_EQ(to_string(Verdict{Outcome::kCrash, "signal:11"}), "crash(signal:11)");
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
    EXPECT_FALSE(is_machine_outcome({Outcome::kError, reason})) << reason;
    EXPECT_NE(blame_of({Outcome::kError, reason}), Blame::kMachine) << reason;
  }
  for (const char* reason : {"spawn:EAGAIN", "spawn:ENOMEM", "guard_lost", "mask_mismatch", "ranks", ""}) {
    EXPECT_TRUE(is_machine_outcome({Outcome::kError, reason})) << reason;
    EXPECT_EQ(blame_of({Outcome::kError, reason}), Blame::kMachine) << reason;
  }
}

TEST(Outcome, TheReasonDecidesWhoseProblemItIs) {
  EXPECT_EQ(blame_of({Outcome::kFail, ""}), Blame::kCode);
  EXPECT_EQ(blame_of({Outcome::kFail, "setup"}), Blame::kSetup);
  EXPECT_EQ(blame_of({Outcome::kCrash, "signal:11"}), Blame::kCode);
  EXPECT_EQ(blame_of({Outcome::kCrash, "oom_host"}), Blame::kMachine);
  EXPECT_EQ(blame_of({Outcome::kError, "no_result"}), Blame::kCode);
  EXPECT_EQ(blame_of({Outcome::kError, "spawn:ENOENT"}), Blame::kSetup);
  EXPECT_EQ(blame_of({Outcome::kError, "guard_lost"}), Blame::kMachine);
  EXPECT_EQ(blame_of({Outcome::kNotrun, "device_lost"}), Blame::kMachine);
  EXPECT_EQ(blame_of({Outcome::kNotrun, "device_sick"}), Blame::kMachine);
  EXPECT_EQ(blame_of({Outcome::kNotrun, "breaker"}), Blame::kMachine);
}

}  // namespace
}  // namespace proctor
