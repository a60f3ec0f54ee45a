// GoogleTest's own result file (--gtest_output=json:PATH; format: GoogleTest advanced guide,
// "Generating a JSON Report"). An exit status alone cannot tell a pass from a skip, or from
// exit(0) in the middle of a test.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/events.h"

namespace proctor {

struct GtestResult {
  int ran = 0;           // tests that were run, skipped ones included
  bool skipped = false;  // all tests that ran called GTEST_SKIP, or an environment did it for them
  std::vector<Failure> failures;
};

// None when the file is absent or not a GoogleTest report.
std::optional<GtestResult> read_gtest_result(const std::string& path);

}  // namespace proctor
