#include "harness/core/outcome_meaning.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/core/exit_code.h"
#include "harness/core/read_file.h"

namespace proctor {
namespace {

using ::testing::HasSubstr;

std::string exec_text(ExecCode code) {
  switch (code) {
    case ExecCode::kCommand:
      return "the command's";
    case ExecCode::kLimit:
      return fmt::format("{}", kExecTimeout);
    case ExecCode::kMachine:
      return fmt::format("{}", kExitMachine);
    case ExecCode::kHarness:
      return fmt::format("{} to {}", kExecInternal, kExecNotFound);
  }
  return {};
}

std::string doubt_text(DeviceDoubt doubt) {
  switch (doubt) {
    case DeviceDoubt::kNone:
      return "no";
    case DeviceDoubt::kYes:
      return "yes";
    case DeviceDoubt::kUnlessExpected:
      return "unless it is known";
    case DeviceDoubt::kUnlessNotStarted:
      return "if it was started";
  }
  return {};
}

std::string or_dash(std::string_view text) { return text.empty() ? "–" : std::string(text); }

std::string junit_text(const OutcomeMeaning& row) {
  if (row.junit == JunitElement::kNone) return "–";
  return fmt::format("`{}` `{}`", to_string(row.junit), junit_type(row.outcome));
}

// As docs/reference/outcomes.md has it.
std::string row_text(const OutcomeMeaning& row) {
  const std::string_view of = to_string(row.of);
  return fmt::format("| `{}`{} | {} | `{}` | {} | {} | {} | {} | {} | {} | {} |\n", to_string(row.outcome),
                     of.empty() ? "" : fmt::format(", {}", of), junit_text(row), to_string(row.ctrf),
                     or_dash(to_string(row.github)), to_string(row.gate), to_string(row.standing),
                     to_string(row.span), exit_code_of(row.run), exec_text(row.exec), doubt_text(row.doubt));
}

std::string page_table() {
  std::string text =
      "| outcome | JUnit | CTRF | annotation | gate | compared as | OpenTelemetry | exit code | of `exec` | "
      "devices examined |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const OutcomeMeaning& row : outcome_meanings()) text += row_text(row);
  return text;
}

// Each cell once more, by hand: who changes a meaning changes it here, too, and on the page.
constexpr std::string_view kGolden = R"(
| `pass` | – | `passed` | – | green | passing | OK | 0 | the command's | no |
| `fail` | `failure` `proctor.fail` | `failed` | error | red | failing | ERROR | 1 | the command's | unless it is known |
| `error`, any other | `error` `proctor.error` | `failed` | error | red | failing | ERROR | 1 | 125 to 127 | if it was started |
| `error`, the machine's | `error` `proctor.error` | `failed` | error | grey | failing | ERROR | 75 | 125 to 127 | if it was started |
| `timeout`, any other | `error` `proctor.timeout` | `failed` | error | red | failing | ERROR | 1 | 124 | yes |
| `timeout`, the machine's | `error` `proctor.timeout` | `failed` | error | grey | failing | ERROR | 75 | 124 | no |
| `stall`, any other | `error` `proctor.stall` | `failed` | error | red | failing | ERROR | 1 | 124 | yes |
| `stall`, the machine's | `error` `proctor.stall` | `failed` | error | grey | failing | ERROR | 75 | 124 | no |
| `crash` | `error` `proctor.crash` | `failed` | error | red | failing | ERROR | 1 | the command's | yes |
| `device_lost` | `error` `proctor.device_lost` | `failed` | error | grey | failing | ERROR | 75 | 75 | yes |
| `skip` | `skipped` `proctor.skip` | `skipped` | notice | yellow | unrun | UNSET | 0 | the command's | no |
| `xfail` | `skipped` `proctor.xfail` | `skipped` | notice | yellow | expected | UNSET | 0 | the command's | no |
| `xpass`, of our suites | `failure` `proctor.xpass` | `failed` | error | red | failing | ERROR | 1 | the command's | no |
| `xpass`, of others | `skipped` `proctor.xpass` | `other` | warning | yellow | expected | UNSET | 0 | the command's | no |
| `notrun`, any other | `error` `proctor.notrun` | `other` | warning | red | unrun | ERROR | 3 | the command's | no |
| `notrun`, the machine's | `error` `proctor.notrun` | `other` | error | grey | unrun | ERROR | 75 | the command's | no |
)";

TEST(OutcomeMeaning, EachCellIsAsItWasAgreed) {
  std::string rows = "\n";
  for (const OutcomeMeaning& row : outcome_meanings()) rows += row_text(row);
  EXPECT_EQ(rows, kGolden);
}

TEST(OutcomeMeaning, ThePageShowsTheTable) {
  const std::string sources = PROCTOR_SOURCE_DIR;
  if (!std::filesystem::exists(sources)) GTEST_SKIP() << "the program is elsewhere than its sources";
  const std::string page = read_file_or_empty(sources + "/docs/reference/outcomes.md");
  EXPECT_THAT(page, HasSubstr(page_table())) << "docs/reference/outcomes.md should have this table:\n"
                                             << page_table();
}

TEST(OutcomeMeaning, WhatWasNotRunAndAnUnexpectedPassAreGreenNowhere) {
  for (const OutcomeMeaning& row : outcome_meanings()) {
    if (row.outcome == Outcome::kPass) continue;
    SCOPED_TRACE(row_text(row));
    EXPECT_NE(row.junit, JunitElement::kNone);
    EXPECT_NE(row.ctrf, CtrfStatus::kPassed);
    EXPECT_NE(row.github, AnnotationLevel::kNone);
    EXPECT_NE(row.gate, GateColour::kGreen);
    EXPECT_NE(row.standing, Standing::kPassing);
    EXPECT_NE(row.span, SpanStatus::kOk);
    EXPECT_NE(row.shade, Shade::kGreen);
    EXPECT_TRUE(row.outcome != Outcome::kNotrun || row.run != RunCode::kGreen);
  }
}

// No column may call good what another calls bad.
TEST(OutcomeMeaning, TheColumnsOfARowAgree) {
  for (const OutcomeMeaning& row : outcome_meanings()) {
    SCOPED_TRACE(row_text(row));
    const bool bad = row.run != RunCode::kGreen;
    EXPECT_EQ(row.junit == JunitElement::kFailure || row.junit == JunitElement::kError, bad);
    EXPECT_EQ(row.span == SpanStatus::kError, bad);
    EXPECT_EQ(row.gate == GateColour::kRed || row.gate == GateColour::kGrey, bad);
    EXPECT_EQ(row.gate == GateColour::kGrey, row.run == RunCode::kMachine);
    EXPECT_FALSE(row.words.empty());
    EXPECT_TRUE(bad || row.ctrf != CtrfStatus::kFailed);
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

TEST(OutcomeMeaning, OpenTelemetryHasItsOwnWordsForGoodAndBad) {
  EXPECT_EQ(span_result({Outcome::kPass, ""}), "pass");
  EXPECT_EQ(span_result({Outcome::kCrash, {Reason::kSignal, 11}}), "fail");
  EXPECT_EQ(span_result({Outcome::kNotrun, Reason::kBudget}), "fail");
  EXPECT_EQ(span_result({Outcome::kSkip, ""}), "skip");
  EXPECT_EQ(span_result({Outcome::kXpass, ""}, "pytest"), "xpass");
  EXPECT_EQ(span_result({Outcome::kXpass, ""}, "proctor"), "fail");
}

}  // namespace
}  // namespace proctor
