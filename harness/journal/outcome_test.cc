#include "harness/journal/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/journal/event_words.h"
#include "harness/journal/events.h"
#include "harness/journal/outcome_meaning.h"

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

TEST(Outcome, VerdictTextIncludesReason) {
  EXPECT_EQ(to_string(Verdict{Outcome::kCrash, {Reason::kSignal, 11}}), "crash(signal:11)");
  EXPECT_EQ(to_string(Verdict{Outcome::kPass, ""}), "pass");
}

TEST(Outcome, PeopleReadNamesOfSignalsAndNoCodes) {
  EXPECT_EQ(readable({Outcome::kPass, ""}), "pass");
  EXPECT_EQ(readable({Outcome::kCrash, {Reason::kSignal, 11}}), "crash · SIGSEGV");
  EXPECT_EQ(readable({Outcome::kCrash, {Reason::kSignal, 64}}), "crash · signal 64");
  EXPECT_EQ(readable({Outcome::kFail, {Reason::kDriverCrash, 6}}), "fail · driver crash: SIGABRT");
  EXPECT_EQ(readable({Outcome::kFail, {Reason::kExit, 3}}), "fail · exit code 3");
  EXPECT_EQ(readable({Outcome::kSkip, {Reason::kNeeds, "devices>=2"}}), "skip · needs:devices>=2");
}

TEST(RunVerdict, HasOneWordInEachOutput) {
  using enum RunVerdict;
  constexpr std::array kAll = {kPassed, kIncomplete, kInterrupted, kMachineFailed, kFailed};
  for (const RunVerdict verdict : kAll) EXPECT_EQ(parse_run_verdict(to_string(verdict)), verdict);
  EXPECT_EQ(parse_run_verdict("green"), std::nullopt);
  EXPECT_EQ(to_string(kMachineFailed), "machine_failed");
  EXPECT_EQ(describe(kMachineFailed), "machine failed");
  EXPECT_EQ(title_of(kMachineFailed), "Machine failed");
  EXPECT_EQ(headline(kMachineFailed), "MACHINE FAILED");
  EXPECT_EQ(exit_code_of(kMachineFailed), kExitMachine);
  EXPECT_TRUE(std::ranges::is_sorted(kAll)) << "the worst of several runs is the greatest";
}

TEST(Outcome, ExactlyTheOutcomesThatFailHaveAnOwner) {
  for (const Outcome outcome : kAllOutcomes) {
    EXPECT_EQ(is_bad(outcome, "proctor"), failure_owner({outcome, ""}) != FailureOwner::kNobody)
        << to_string(outcome);
  }
}

TEST(Outcome, XpassIsBadInProctorSuitesOnly) {
  for (const Outcome outcome : kAllOutcomes) {
    EXPECT_EQ(is_bad(outcome, "pytest"), is_bad(outcome)) << to_string(outcome);
    EXPECT_EQ(is_bad(outcome, "proctor"), is_bad(outcome) || outcome == Outcome::kXpass)
        << to_string(outcome);
  }
  EXPECT_FALSE(is_bad(Outcome::kXpass));
}

TEST(Outcome, ReproducibleErrorsAreNotMachineProblems) {
  for (const char* reason : {"no_result", "result_mismatch", "protocol", "discovery", "spawn:ENOENT",
                             "spawn:EACCES", "spawn:ENOEXEC"}) {
    EXPECT_FALSE(is_machine_outcome({Outcome::kError, reason_in_words(reason)})) << reason;
    EXPECT_NE(failure_owner({Outcome::kError, reason_in_words(reason)}), FailureOwner::kMachine) << reason;
  }
  for (const char* reason : {"spawn:EAGAIN", "spawn:ENOMEM", "guard_lost", "mask_mismatch", "ranks", ""}) {
    EXPECT_TRUE(is_machine_outcome({Outcome::kError, reason_in_words(reason)})) << reason;
    EXPECT_EQ(failure_owner({Outcome::kError, reason_in_words(reason)}), FailureOwner::kMachine) << reason;
  }
}

TEST(Outcome, TheReasonDecidesTheOwner) {
  EXPECT_EQ(failure_owner({Outcome::kFail, ""}), FailureOwner::kCode);
  EXPECT_EQ(failure_owner({Outcome::kFail, Reason::kSetup}), FailureOwner::kSetup);
  EXPECT_EQ(failure_owner({Outcome::kCrash, {Reason::kSignal, 11}}), FailureOwner::kCode);
  EXPECT_EQ(failure_owner({Outcome::kCrash, Reason::kOomHost}), FailureOwner::kMachine);
  EXPECT_EQ(failure_owner({Outcome::kError, Reason::kNoResult}), FailureOwner::kCode);
  EXPECT_EQ(failure_owner({Outcome::kError, {Reason::kSpawn, "ENOENT"}}), FailureOwner::kSetup);
  EXPECT_EQ(failure_owner({Outcome::kError, Reason::kGuardLost}), FailureOwner::kMachine);
  EXPECT_EQ(failure_owner({Outcome::kNotrun, Reason::kDeviceLost}), FailureOwner::kMachine);
  EXPECT_EQ(failure_owner({Outcome::kNotrun, Reason::kDeviceUnhealthy}), FailureOwner::kMachine);
  EXPECT_EQ(failure_owner({Outcome::kNotrun, Reason::kMachineFailures}), FailureOwner::kMachine);
}

TEST(OutcomeMeaning, WhatWasNotRunAndAnUnexpectedPassPassNowhere) {
  for (const OutcomeMeaning& row : outcome_meanings()) {
    EXPECT_FALSE(row.words.empty());
    if (row.outcome == Outcome::kPass) continue;
    SCOPED_TRACE(row.words);
    EXPECT_NE(row.result_class, ResultClass::kPassing);
    EXPECT_NE(row.shade, Shade::kGreen);
    EXPECT_TRUE(row.outcome != Outcome::kNotrun || row.run != RunVerdict::kPassed);
  }
}

TEST(OutcomeMeaning, ReasonAndKindSelectMeaning) {
  const auto code = [](Outcome outcome, const ReasonText& reason, std::string_view kind = {}) {
    return exit_code_of(meaning_of({outcome, reason}, kind).run);
  };
  EXPECT_EQ(code(Outcome::kError, Reason::kNoResult), kExitRed);
  EXPECT_EQ(code(Outcome::kError, Reason::kProtocol), kExitRed);
  EXPECT_EQ(code(Outcome::kError, Reason::kGuardLost), kExitMachine);
  EXPECT_EQ(code(Outcome::kNotrun, Reason::kRunLimit), kExitIncomplete);
  EXPECT_EQ(code(Outcome::kNotrun, Reason::kDeviceUnhealthy), kExitMachine);
  EXPECT_EQ(code(Outcome::kXpass, "", "proctor"), kExitRed);
  EXPECT_EQ(code(Outcome::kXpass, "", "pytest"), kExitGreen);
  for (const Outcome outcome : kAllOutcomes) {
    for (const std::string_view kind : {"proctor", "pytest"}) {
      EXPECT_EQ(meaning_of({outcome, ""}, kind).outcome, outcome);
      EXPECT_EQ(meaning_of({outcome, ""}, kind).run != RunVerdict::kPassed, is_bad(outcome, kind));
    }
  }
}

using ::testing::HasSubstr;

// Returns a verdict of the row, with any value if the row takes one.
Verdict verdict_in(const ReasonMeaning& row, Outcome outcome) {
  std::string text(row.spelling);
  if (text.ends_with('*')) text.back() = '7';
  return {outcome, reason_in_words(text)};
}

// meaning_of_reason() finds a row by its spelling, with each of its outcomes and with no other.
TEST(Reasons, FindsEveryReasonBySpelling) {
  for (const ReasonMeaning& row : reason_meanings()) {
    for (const Outcome outcome : kAllOutcomes) {
      const bool is_its = outcome == row.outcomes[0] || outcome == row.outcomes[1];
      const ReasonMeaning* found = meaning_of_reason(verdict_in(row, outcome));
      EXPECT_EQ(found == &row, is_its) << row.spelling << " of " << to_string(outcome);
    }
    EXPECT_TRUE(verdict_in(row, row.outcomes[0]).reason == row.reason) << row.spelling;
  }
}

TEST(Reasons, JournalUsesSpellingOfTable) {
  for (const ReasonMeaning& row : reason_meanings()) {
    CaseEnded written;
    written.verdict = verdict_in(row, row.outcomes[0]);
    const std::string line = to_json_line(written);
    EXPECT_THAT(line, HasSubstr(written.verdict.reason.text()));
    EXPECT_EQ(std::get<CaseEnded>(**parse_json_line(line)).verdict, written.verdict);
  }
}

TEST(Reasons, TextContainsNameAndValue) {
  const ReasonText killed(Reason::kSignal, 11);
  EXPECT_EQ(killed.text(), "signal:11");
  EXPECT_EQ(killed.value_of(Reason::kSignal), "11");
  EXPECT_EQ(killed.value_of(Reason::kExit), std::nullopt);
  EXPECT_EQ(ReasonText(Reason::kRunLimit).text(), "run_limit");
  EXPECT_TRUE(ReasonText("").empty());
  EXPECT_NE(reason_in_words("signals"), Reason::kSignal);
}

TEST(Reasons, UnknownReasonKeepsMeaningOfOutcome) {
  const auto read = parse_json_line(
      R"({"type":"case_ended","verdict":{"outcome":"notrun","reason":"of_a_later_version:3"}})");
  const Verdict verdict = std::get<CaseEnded>(**read).verdict;
  EXPECT_EQ(to_string(verdict), "notrun(of_a_later_version:3)");
  EXPECT_EQ(meaning_of_reason(verdict), nullptr);
  EXPECT_EQ(failure_owner(verdict), failure_owner({Outcome::kNotrun, ""}));
  // budget is a reason of another outcome
  EXPECT_EQ(meaning_of_reason({Outcome::kCrash, Reason::kRunLimit}), nullptr);
}

TEST(Reasons, DescriptionIncludesValue) {
  const auto words = [](Outcome outcome, const ReasonText& reason) {
    return describe_reason(*meaning_of_reason({outcome, reason}), reason);
  };
  EXPECT_EQ(words(Outcome::kFail, {Reason::kExit, 3}), "exited with code 3");
  EXPECT_EQ(words(Outcome::kCrash, {Reason::kSignal, 11}), "killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(words(Outcome::kError, {Reason::kSpawn, "ENOENT"}), "could not be started: ENOENT");
  EXPECT_THAT(words(Outcome::kError, {Reason::kSpawn, "ENOEXEC"}), HasSubstr(kNoProgram));
}

using ::testing::HasSubstr;

Warning read_back(const Warning& warning) {
  return std::get<Warning>(**parse_json_line(to_json_line(warning)));
}

TEST(EventWords, WarningCodesRoundTrip) {
  for (std::size_t i = 0; i < kWarningCodes; ++i) {
    const auto code = static_cast<WarningCode>(i);
    EXPECT_EQ(read_back({code, "text"}).code, code) << to_string(code);
  }
  EXPECT_THAT(to_json_line(Warning{WarningCode::kReportNotWritten, ""}),
              HasSubstr(R"("code":"report_not_written")"));
}

TEST(EventWords, KeepsUnknownWarningCode) {
  const Warning read = read_back({WarningWord::in_text("of_a_later_version"), "text"});
  EXPECT_EQ(read.code.text(), "of_a_later_version");
  EXPECT_FALSE(is_machine_warning(read.code));
  EXPECT_NE(read.code, WarningCode::kReportNotWritten);
}

TEST(EventWords, ClassifiesMachineWarnings) {
  for (const WarningCode code :
       {WarningCode::kDeviceAccess, WarningCode::kDeviceShortage, WarningCode::kStackChanged,
        WarningCode::kMaskMismatch, WarningCode::kReportNotWritten, WarningCode::kJournalChanged})
    EXPECT_TRUE(is_machine_warning(code)) << to_string(code);
  for (const WarningCode code : {WarningCode::kProgramChanged, WarningCode::kStackChangedSincePass})
    EXPECT_FALSE(is_machine_warning(code)) << to_string(code);
}

TEST(EventWords, HealthFactsRoundTrip) {
  for (std::size_t i = 0; i < kHealthFacts; ++i) {
    const auto fact = static_cast<HealthFact>(i);
    DeviceHealth written;
    written.what = fact;
    EXPECT_EQ(std::get<DeviceHealth>(**parse_json_line(to_json_line(written))).what, fact) << to_string(fact);
  }
}

}  // namespace
}  // namespace proctor
