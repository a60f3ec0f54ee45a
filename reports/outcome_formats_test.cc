// Tests the tables of formats.h and harness/journal/outcome_meaning.h: each cell, docs/reference/outcomes.md, which
// shows them, and the outputs of the formats.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/formats/formats.h"
#include "reports/formats/github.h"
#include "reports/formats/junit.h"
#include "reports/gate/gate_rules.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;
using ::testing::HasSubstr;

struct Shown {
  Verdict verdict;
  std::string kind;
  std::string junit;
  std::string annotation;
  int exit_code;
  std::string ctrf;
  std::string span;  // result and status of the span of the attempt
};

// A second case passes, so that the run does not fail because no case was executed.
ResolvedRun run_of(const Shown& row) {
  const std::string id = "s/a";
  return resolved_of({plan_of({planned(id, row.kind), planned("s/good", row.kind)}), started(id),
                      ended(id, row.verdict), concluded(id, row.verdict), started("s/good"),
                      ended("s/good", {Outcome::kPass, ""}), concluded("s/good", {Outcome::kPass, ""}),
                      RunEnded{"2026-01-31T12:00:09Z", 9000}});
}

std::string junit_shown(const ResolvedRun& run) {
  const std::string xml = junit_run(run);
  const std::string first =
      xml.substr(xml.find("<testcase"), xml.find("<testcase name=\"good\"") - xml.find("<testcase"));
  std::smatch found;
  const std::regex element("<(failure|error|skipped) .*?(proctor\\.[a-z_]+)");
  return std::regex_search(first, found, element) ? found.str(1) + " " + found.str(2) : "none";
}

std::string annotation_shown(const ResolvedRun& run) {
  for (const Annotation& annotation : annotations(run, "")) {
    const bool mine = annotation.title.starts_with("s/a: ") || annotation.title.starts_with("1 case: ");
    if (mine) return std::string(to_string(annotation.level));
  }
  return "none";
}

template <typename Write>
json written(const Write& write, const ResolvedRun& run) {
  return json::parse(text_of([&](TextOutput& output) { write(run, output); }));
}

std::string ctrf_shown(const ResolvedRun& run) {
  const json test = written(write_ctrf, run)["results"]["tests"][0];
  return test["status"].get<std::string>() + " " + test["rawStatus"].get<std::string>();
}

std::string span_shown(const ResolvedRun& run) {
  const json trace = written(write_otlp, run);
  const json& span = trace["resourceSpans"][0]["scopeSpans"][0]["spans"][1];
  const std::array<std::string, 3> codes = {"UNSET", "OK", "ERROR"};
  for (const json& attribute : span["attributes"]) {
    if (attribute["key"] == "test.case.result.status")
      return attribute["value"]["stringValue"].get<std::string>() + " " + codes.at(span["status"]["code"]);
  }
  return "none";
}

TEST(OutcomeFormats, ReportsShowEachOutcome) {
  const std::vector<Shown> rows = {
      {{Outcome::kPass, ""}, "proctor", "none", "none", 0, "passed pass", "pass OK"},
      {{Outcome::kFail, ""}, "proctor", "failure proctor.fail", "error", 1, "failed fail", "fail ERROR"},
      {{Outcome::kError, Reason::kNoResult},
       "proctor",
       "error proctor.error",
       "error",
       1,
       "failed error",
       "fail ERROR"},
      {{Outcome::kError, Reason::kGuardLost},
       "proctor",
       "error proctor.error",
       "error",
       75,
       "failed error",
       "fail ERROR"},
      {{Outcome::kTimeout, ""},
       "proctor",
       "error proctor.timeout",
       "error",
       1,
       "failed timeout",
       "fail ERROR"},
      {{Outcome::kTimeout, Reason::kStarved},
       "proctor",
       "error proctor.timeout",
       "error",
       75,
       "failed timeout",
       "fail ERROR"},
      {{Outcome::kStall, ""}, "proctor", "error proctor.stall", "error", 1, "failed stall", "fail ERROR"},
      {{Outcome::kStall, Reason::kStarved},
       "proctor",
       "error proctor.stall",
       "error",
       75,
       "failed stall",
       "fail ERROR"},
      {{Outcome::kCrash, {Reason::kSignal, 11}},
       "proctor",
       "error proctor.crash",
       "error",
       1,
       "failed crash",
       "fail ERROR"},
      {{Outcome::kDeviceLost, ""},
       "proctor",
       "error proctor.device_lost",
       "error",
       75,
       "failed device_lost",
       "fail ERROR"},
      {{Outcome::kSkip, {Reason::kNeeds, "x"}},
       "proctor",
       "skipped proctor.skip",
       "notice",
       0,
       "skipped skip",
       "skip UNSET"},
      {{Outcome::kXfail, reason_in_words("fail")},
       "proctor",
       "skipped proctor.xfail",
       "notice",
       0,
       "skipped xfail",
       "xfail UNSET"},
      {{Outcome::kXpass, ""}, "proctor", "failure proctor.xpass", "error", 1, "failed xpass", "fail ERROR"},
      {{Outcome::kXpass, ""}, "pytest", "skipped proctor.xpass", "warning", 0, "other xpass", "xpass UNSET"},
      {{Outcome::kNotrun, Reason::kRunLimit},
       "proctor",
       "error proctor.notrun",
       "warning",
       3,
       "other notrun",
       "fail ERROR"},
      {{Outcome::kNotrun, Reason::kDeviceUnhealthy},
       "proctor",
       "error proctor.notrun",
       "error",
       75,
       "other notrun",
       "fail ERROR"},
  };
  EXPECT_EQ(rows.size(), outcome_meanings().size());
  for (const Shown& row : rows) {
    SCOPED_TRACE(to_string(row.verdict) + " of " + row.kind);
    const ResolvedRun run = run_of(row);
    EXPECT_EQ(junit_shown(run), row.junit);
    EXPECT_EQ(annotation_shown(run), row.annotation);
    EXPECT_EQ(run.exit_code, row.exit_code);
    EXPECT_EQ(ctrf_shown(run), row.ctrf);
    EXPECT_EQ(span_shown(run), row.span);
  }
}

// ---- The tables, and the page that shows them ----

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

std::string suspicion_text(DeviceSuspicion suspicion) {
  switch (suspicion) {
    case DeviceSuspicion::kNone:
      return "no";
    case DeviceSuspicion::kYes:
      return "yes";
    case DeviceSuspicion::kUnlessExpected:
      return "unless it is known";
    case DeviceSuspicion::kUnlessNotStarted:
      return "if it was started";
  }
  return {};
}

std::string or_dash(std::string_view text) { return text.empty() ? "–" : std::string(text); }

std::string junit_text(const OutcomeFormats& row) {
  if (row.junit == JunitElement::kNone) return "–";
  return fmt::format("`{}` `{}`", to_string(row.junit), junit_type(row.outcome));
}

// Returns the formats for a row of the table of meanings, which has more rows.
const OutcomeFormats& formats_of(const OutcomeMeaning& meaning) {
  return *std::ranges::find_if(outcome_formats(), [&](const OutcomeFormats& row) {
    return row.outcome == meaning.outcome && (row.of == MeaningOf::kAll || row.of == meaning.of);
  });
}

// Returns a row as docs/reference/outcomes.md shows it.
std::string row_text(const OutcomeMeaning& row) {
  const std::string_view of = to_string(row.of);
  const OutcomeFormats& formats = formats_of(row);
  return fmt::format("| `{}`{} | {} | `{}` | {} | {} | {} | {} | {} | {} | {} |\n", to_string(row.outcome),
                     of.empty() ? "" : fmt::format(", {}", of), junit_text(formats), to_string(formats.ctrf),
                     or_dash(to_string(formats.github)), to_string(gate_result(row)),
                     to_string(row.result_class), to_string(formats.span), exit_code_of(row.run),
                     exec_text(row.exec), suspicion_text(row.suspicion));
}

std::string page_table() {
  std::string text =
      "| outcome | JUnit | CTRF | annotation | gate | compared as | OpenTelemetry | exit code | of `exec` | "
      "devices examined |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const OutcomeMeaning& row : outcome_meanings()) text += row_text(row);
  return text;
}

// Repeats each cell. A change of a meaning requires the same change here and in docs/reference/outcomes.md.
constexpr std::string_view kGolden = R"(
| `pass` | – | `passed` | – | passes | passing | OK | 0 | the command's | no |
| `fail` | `failure` `proctor.fail` | `failed` | error | fails | failing | ERROR | 1 | the command's | unless it is known |
| `error`, any other | `error` `proctor.error` | `failed` | error | fails | failing | ERROR | 1 | 125 to 127 | if it was started |
| `error`, the machine's | `error` `proctor.error` | `failed` | error | missing | failing | ERROR | 75 | 125 to 127 | if it was started |
| `timeout`, any other | `error` `proctor.timeout` | `failed` | error | fails | failing | ERROR | 1 | 124 | yes |
| `timeout`, the machine's | `error` `proctor.timeout` | `failed` | error | missing | failing | ERROR | 75 | 124 | no |
| `stall`, any other | `error` `proctor.stall` | `failed` | error | fails | failing | ERROR | 1 | 124 | yes |
| `stall`, the machine's | `error` `proctor.stall` | `failed` | error | missing | failing | ERROR | 75 | 124 | no |
| `crash` | `error` `proctor.crash` | `failed` | error | fails | failing | ERROR | 1 | the command's | yes |
| `device_lost` | `error` `proctor.device_lost` | `failed` | error | missing | failing | ERROR | 75 | 75 | yes |
| `skip` | `skipped` `proctor.skip` | `skipped` | notice | needs an entry | notrun | UNSET | 0 | the command's | no |
| `xfail` | `skipped` `proctor.xfail` | `skipped` | notice | needs an entry | expected | UNSET | 0 | the command's | no |
| `xpass`, of built-in suites | `failure` `proctor.xpass` | `failed` | error | fails | failing | ERROR | 1 | the command's | no |
| `xpass`, of others | `skipped` `proctor.xpass` | `other` | warning | needs an entry | expected | UNSET | 0 | the command's | no |
| `notrun`, any other | `error` `proctor.notrun` | `other` | warning | fails | notrun | ERROR | 3 | the command's | no |
| `notrun`, the machine's | `error` `proctor.notrun` | `other` | error | missing | notrun | ERROR | 75 | the command's | no |
)";

TEST(OutcomeFormats, TableMatchesGoldenTable) {
  std::string rows = "\n";
  for (const OutcomeMeaning& row : outcome_meanings()) rows += row_text(row);
  EXPECT_EQ(rows, kGolden);
}

TEST(OutcomeFormats, DocumentationHasOutcomeTable) {
  const std::string sources = PROCTOR_SOURCE_DIR;
  if (!std::filesystem::exists(sources)) GTEST_SKIP() << "the program is elsewhere than its sources";
  const std::string page = read_file_or_empty(sources + "/docs/reference/outcomes.md");
  EXPECT_THAT(page, HasSubstr(page_table())) << "docs/reference/outcomes.md should have this table:\n"
                                             << page_table();
}

TEST(OutcomeFormats, WhatWasNotRunAndAnUnexpectedPassPassNowhere) {
  for (const OutcomeMeaning& row : outcome_meanings()) {
    if (row.outcome == Outcome::kPass) continue;
    SCOPED_TRACE(row_text(row));
    const OutcomeFormats& formats = formats_of(row);
    EXPECT_NE(formats.junit, JunitElement::kNone);
    EXPECT_NE(formats.ctrf, CtrfStatus::kPassed);
    EXPECT_NE(formats.github, AnnotationLevel::kNone);
    EXPECT_NE(formats.span, SpanStatus::kOk);
    EXPECT_NE(gate_result(row), GateResult::kPasses);
  }
}

// All columns of an outcome agree on whether it is a failure.
TEST(OutcomeFormats, FormatsOfOneOutcomeAgree) {
  for (const OutcomeMeaning& row : outcome_meanings()) {
    SCOPED_TRACE(row_text(row));
    const OutcomeFormats& formats = formats_of(row);
    const bool bad = row.run != RunVerdict::kPassed;
    EXPECT_EQ(formats.junit == JunitElement::kFailure || formats.junit == JunitElement::kError, bad);
    EXPECT_EQ(formats.span == SpanStatus::kError, bad);
    EXPECT_TRUE(bad || formats.ctrf != CtrfStatus::kFailed);
  }
}

TEST(OutcomeFormats, MapsOutcomesToOpenTelemetryResults) {
  EXPECT_EQ(span_result({Outcome::kPass, ""}), "pass");
  EXPECT_EQ(span_result({Outcome::kCrash, {Reason::kSignal, 11}}), "fail");
  EXPECT_EQ(span_result({Outcome::kNotrun, Reason::kRunLimit}), "fail");
  EXPECT_EQ(span_result({Outcome::kSkip, ""}), "skip");
  EXPECT_EQ(span_result({Outcome::kXpass, ""}, "pytest"), "xpass");
  EXPECT_EQ(span_result({Outcome::kXpass, ""}, "proctor"), "fail");
}

// Returns a verdict that matches the row, with an arbitrary number where the row accepts any.
Verdict verdict_in(const ReasonMeaning& row, Outcome outcome) {
  std::string text(row.spelling);
  if (text.ends_with('*')) text.back() = '7';
  return {outcome, reason_in_words(text)};
}

std::string said_of(const ReasonMeaning& row) {
  const OutcomeMeaning& outcome = meaning_of(verdict_in(row, row.outcomes[0]));
  if (row.words.empty()) return std::string(outcome.words);
  return fmt::format(fmt::runtime(row.words), "…");
}

// Returns a row of the reasons as docs/reference/outcomes.md shows it.
std::string reason_row(const ReasonMeaning& row) {
  const OutcomeMeaning& outcome = meaning_of(verdict_in(row, row.outcomes[0]));
  const std::string also = row.outcomes[0] == row.outcomes[1]
                               ? ""
                               : fmt::format(", `{}({})`", to_string(row.outcomes[1]), row.spelling);
  const std::string exec = row.exec == 0 ? "" : fmt::format(", `exec`: {}", row.exec);
  return fmt::format("| `{}({})`{} | {} | {}{} | {} | {} |\n", to_string(row.outcomes[0]), row.spelling, also,
                     row.problem == FailureOwner::kNobody ? "" : to_string(row.problem),
                     exit_code_of(outcome.run), exec, to_string(gate_result(outcome)), said_of(row));
}

std::string reason_table() {
  std::string text =
      "| reason | owner | exit code | gate | what a report says |\n| --- | --- | --- | --- | --- |\n";
  for (const ReasonMeaning& row : reason_meanings()) text += reason_row(row);
  return text;
}

TEST(OutcomeFormats, DocumentationHasReasonTable) {
  const std::string sources = PROCTOR_SOURCE_DIR;
  if (!std::filesystem::exists(sources)) GTEST_SKIP() << "the program is elsewhere than its sources";
  const std::string page = read_file_or_empty(sources + "/docs/reference/outcomes.md");
  EXPECT_THAT(page, HasSubstr(reason_table())) << "docs/reference/outcomes.md should have this table:\n"
                                               << reason_table();
}

}  // namespace
}  // namespace proctor
