// What the rows of a self-test prove together, and what they do not prove. A pure function.
//
// A check is killed if one pointed fault killed one of its cases; a fault is caught if it killed some
// check. A check or fault that cannot be tried on this machine, because the loader or a library lacks
// something, is set aside with its reason and counts neither way. Every other skip is a clean run that is not
// clean, unless its check is exempt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/journal/outcome.h"
#include "harness/plan/exemptions.h"
#include "harness/plan/plan.h"
#include "harness/selftest/kill.h"
#include "harness/selftest/matrix.h"

namespace proctor {

struct SelftestResult {
  std::size_t row = 0;   // index into SelftestMatrix::rows
  std::size_t test = 0;  // index into Plan::cases: the one that was killed, else the last that was tried
  Verdict verdict;
  bool warned = false;
  KillResult kill;  // for a clean row, only the message
  std::int64_t duration_ms = 0;
  std::string log;  // relative to the output directory
};

struct SetAside {
  std::string name;    // name of a check or a fault
  std::string reason;  // "symbol_missing:zesInit"
};

struct SelftestSummary {
  int faults = 0;
  int caught = 0;
  int checks = 0;  // without those that are exempt or set aside
  int killed = 0;
  std::vector<Exemption> exempt;
  std::vector<SetAside> skipped_checks;
  std::vector<SetAside> skipped_faults;
  // One sentence each. If there are none, the self-test passes.
  std::vector<std::string> problems;
};

SelftestSummary summarise(const Plan& plan, const SelftestMatrix& matrix,
                          const std::vector<SelftestResult>& results,
                          const std::vector<Exemption>& exemptions);

// A self-test for people (a table) and for programs (selftest.json, reports/schema/selftest.schema.json).

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
