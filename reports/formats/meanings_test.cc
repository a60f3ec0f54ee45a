// What each outcome looks like in what is really written, format by format. The table that decides it is
// harness/core/outcome_meaning.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "harness/core/json.h"
#include "reports/formats/ctrf.h"
#include "reports/formats/github.h"
#include "reports/formats/junit.h"
#include "reports/formats/otlp.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;

struct Shown {
  Verdict verdict;
  std::string kind;
  std::string junit;
  std::string annotation;
  int exit_code;
  std::string ctrf;
  std::string span;  // result and status of the attempt
};

// A second case passes, so that the run is not red for having executed nothing.
ResolvedRun run_of(const Shown& row) {
  const std::string id = "s/a";
  return model_of({plan_of({planned(id, row.kind), planned("s/good", row.kind)}), started(id),
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

TEST(Meanings, EachOutcomeInEachFormat) {
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
      {{Outcome::kNotrun, Reason::kBudget},
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

}  // namespace
}  // namespace proctor
