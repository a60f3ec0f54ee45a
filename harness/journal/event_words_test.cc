#include "harness/journal/event_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/journal/events.h"

namespace proctor {
namespace {

using ::testing::HasSubstr;

Warning read_back(const Warning& warning) {
  return std::get<Warning>(**parse_json_line(to_json_line(warning)));
}

TEST(EventWords, TheJournalSpellsEachWarningOnce) {
  for (std::size_t i = 0; i < kWarningCodes; ++i) {
    const auto code = static_cast<WarningCode>(i);
    EXPECT_EQ(read_back({code, "text"}).code, code) << to_string(code);
  }
  EXPECT_THAT(to_json_line(Warning{WarningCode::kReportLost, ""}), HasSubstr(R"("code":"report_lost")"));
}

TEST(EventWords, OneOfAnotherVersionIsKept) {
  const Warning read = read_back({WarningWord::in_text("of_a_later_version"), "text"});
  EXPECT_EQ(read.code.text(), "of_a_later_version");
  EXPECT_FALSE(is_machine_warning(read.code));
  EXPECT_NE(read.code, WarningCode::kReportLost);
}

TEST(EventWords, WhatChangedOrWasLostIsTheMachines) {
  for (const WarningCode code :
       {WarningCode::kDeviceAccess, WarningCode::kDeviceShortage, WarningCode::kStackChanged,
        WarningCode::kMaskMismatch, WarningCode::kReportLost, WarningCode::kJournalChanged})
    EXPECT_TRUE(is_machine_warning(code)) << to_string(code);
  for (const WarningCode code : {WarningCode::kProgramChanged, WarningCode::kStackSinceGreen})
    EXPECT_FALSE(is_machine_warning(code)) << to_string(code);
}

TEST(EventWords, TheJournalSpellsEachFactOfHealth) {
  for (std::size_t i = 0; i < kHealthFacts; ++i) {
    const auto fact = static_cast<HealthFact>(i);
    DeviceHealth written;
    written.what = fact;
    EXPECT_EQ(std::get<DeviceHealth>(**parse_json_line(to_json_line(written))).what, fact) << to_string(fact);
  }
}

}  // namespace
}  // namespace proctor
