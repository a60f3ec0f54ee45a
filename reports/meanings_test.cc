// What each outcome looks like in what is really written, format by format. The table that decides it is
// harness/core/outcome_meaning.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "reports/exit_code.h"
#include "reports/github.h"
#include "reports/junit.h"
#include "reports/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;

struct Shown {
  Verdict verdict;
  std::string kind;
  std::string junit;
  std::string annotation;
  int exit_code;
};

// A second case passes, so that the run is not red for having executed nothing.
RunModel run_of(const Shown& row) {
  const std::string id = "s/a";
  return model_of({plan_of({planned(id, row.kind), planned("s/good", row.kind)}), started(id),
                   ended(id, row.verdict), concluded(id, row.verdict), started("s/good"),
                   ended("s/good", {Outcome::kPass, ""}), concluded("s/good", {Outcome::kPass, ""}),
                   RunEnded{"2026-01-31T12:00:09Z", 9000}});
}

std::string junit_shown(const RunModel& model) {
  const std::string xml = junit_run(model);
  const std::string first =
      xml.substr(xml.find("<testcase"), xml.find("<testcase name=\"good\"") - xml.find("<testcase"));
  std::smatch found;
  const std::regex element("<(failure|error|skipped) .*?(proctor\\.[a-z_]+)");
  return std::regex_search(first, found, element) ? found.str(1) + " " + found.str(2) : "none";
}

std::string annotation_shown(const RunModel& model) {
  for (const Annotation& annotation : annotations(model, "")) {
    const bool mine = annotation.title.starts_with("s/a: ") || annotation.title.starts_with("1 case: ");
    if (mine) return std::string(to_string(annotation.level));
  }
  return "none";
}

TEST(Meanings, EachOutcomeInEachFormat) {
  const std::vector<Shown> rows = {
      {{Outcome::kPass, ""}, "proctor", "none", "none", 0},
      {{Outcome::kFail, ""}, "proctor", "failure proctor.fail", "error", 1},
      {{Outcome::kError, "no_result"}, "proctor", "error proctor.error", "error", 1},
      {{Outcome::kError, "guard_lost"}, "proctor", "error proctor.error", "error", 75},
      {{Outcome::kTimeout, ""}, "proctor", "error proctor.timeout", "error", 1},
      {{Outcome::kStall, ""}, "proctor", "error proctor.stall", "error", 1},
      {{Outcome::kCrash, "signal:11"}, "proctor", "error proctor.crash", "error", 1},
      {{Outcome::kDeviceLost, ""}, "proctor", "error proctor.device_lost", "error", 75},
      {{Outcome::kSkip, "needs:x"}, "proctor", "skipped proctor.skip", "notice", 0},
      {{Outcome::kXfail, "fail"}, "proctor", "skipped proctor.xfail", "notice", 0},
      {{Outcome::kXpass, ""}, "proctor", "failure proctor.xpass", "error", 1},
      {{Outcome::kXpass, ""}, "pytest", "skipped proctor.xpass", "warning", 0},
      {{Outcome::kNotrun, "budget"}, "proctor", "error proctor.notrun", "warning", 3},
      {{Outcome::kNotrun, "device_sick"}, "proctor", "error proctor.notrun", "error", 75},
  };
  EXPECT_EQ(rows.size(), outcome_meanings().size());
  for (const Shown& row : rows) {
    SCOPED_TRACE(to_string(row.verdict) + " of " + row.kind);
    const RunModel model = run_of(row);
    EXPECT_EQ(junit_shown(model), row.junit);
    EXPECT_EQ(annotation_shown(model), row.annotation);
    EXPECT_EQ(exit_code(model), row.exit_code);
  }
}

}  // namespace
}  // namespace proctor
