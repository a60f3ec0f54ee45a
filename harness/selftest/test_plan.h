// Plans and results for tests of the self-test's pure functions.
#pragma once

#include <string>
#include <vector>

#include "harness/frameworks/proctor.h"
#include "harness/selftest/matrix.h"
#include "harness/selftest/selftest_summary.h"

namespace proctor::testing_support {

struct PlannedCheck {
  const char* name;  // "A.One" or "A.One/fp16"
  std::vector<std::string> faults;
};

inline Plan plan_of(const std::vector<PlannedCheck>& checks) {
  Plan plan;
  Suite suite;
  suite.name = "s";
  suite.kind = &proctor_kind();
  suite.backend = Backend::kXpu;
  plan.suites.push_back(suite);
  for (const auto& check : checks) {
    Case test;
    test.name = check.name;
    test.id = "s.xpu/" + test.name;
    test.rule = "R1";
    test.faults = check.faults;
    plan.cases.push_back(test);
  }
  return plan;
}

// Two pointed faults and one blanket fault.
inline std::vector<CatalogueFault> small_catalogue() {
  return {{"x.a", false}, {"x.b", false}, {"y.all", true}};
}

// Returns the results of all rows of a self-test that passes.
inline std::vector<SelftestResult> all_good(const SelftestMatrix& matrix) {
  std::vector<SelftestResult> results;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    SelftestResult result;
    result.row = i;
    result.test = matrix.rows[i].cases.front();
    const bool listed = matrix.rows[i].purpose == RowPurpose::kListed;
    result.verdict = {listed ? Outcome::kFail : Outcome::kPass, ""};
    result.kill = {.fired = listed, .killed = listed, .message = ""};
    results.push_back(result);
  }
  return results;
}

}  // namespace proctor::testing_support
