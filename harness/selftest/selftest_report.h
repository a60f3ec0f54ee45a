// A self-test for people (a table) and for programs (selftest.json, reports/schema/selftest.schema.json).
#pragma once

#include <string>
#include <vector>

#include "harness/selftest/selftest_summary.h"

namespace proctor {

struct SelftestInfo {
  std::string id;
  std::string started;  // UTC, 2026-01-31T12:00:00Z
  std::string backend;
  std::string topology;
  std::string mode;  // "quick" or "full"
  std::int64_t duration_ms = 0;
};

// Only grows; readers ignore keys that they do not know.
std::string selftest_json(const SelftestInfo& info, const Plan& plan, const SelftestMatrix& matrix,
                          const std::vector<SelftestResult>& results, const SelftestSummary& summary);

// The rows under a fault, one a line: fault, check, fired, outcome, rule, message.
std::string selftest_table(const Plan& plan, const SelftestMatrix& matrix,
                           const std::vector<SelftestResult>& results);

// What the self-test proved, then one line per problem.
std::string selftest_words(const SelftestSummary& summary);

}  // namespace proctor
