// Summarises the rows of a self-test: what they prove and what they do not. It is a pure function.
//
// A check is killed if a pointed fault killed one of its cases. A fault is caught if it killed a check. A check or
// fault that cannot run on this machine is set aside with its reason and not counted. That is the case if the loader or
// a library lacks something. Every other skip makes a clean row fail, unless its check is exempt.
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
  std::size_t test = 0;  // index into Plan::cases: the killed case, or else the last case
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
  int checks = 0;  // without exempt checks and checks that are set aside
  int killed = 0;
  std::vector<Exemption> exempt;
  std::vector<SetAside> skipped_checks;
  std::vector<SetAside> skipped_faults;
  // One sentence each. The self-test passes if there are none.
  std::vector<std::string> problems;
};

SelftestSummary summarise(const Plan& plan, const SelftestMatrix& matrix,
                          const std::vector<SelftestResult>& results,
                          const std::vector<Exemption>& exemptions);

// Reports of a self-test: a table for people, and JSON for programs (selftest.json,
// reports/schema/selftest.schema.json).

struct SelftestInfo {
  std::string id;
  std::string started;  // UTC, 2026-01-31T12:00:00Z
  std::string backend;
  std::string topology;
  std::string mode;  // "quick" or "full"
  std::int64_t duration_ms = 0;
};

// Returns selftest.json. Later versions may only add keys, and readers ignore unknown keys.
std::string selftest_json(const SelftestInfo& info, const Plan& plan, const SelftestMatrix& matrix,
                          const std::vector<SelftestResult>& results, const SelftestSummary& summary);

// Returns the rows under a fault, one per line: fault, check, fired, outcome, rule, message.
std::string selftest_table(const Plan& plan, const SelftestMatrix& matrix,
                           const std::vector<SelftestResult>& results);

// Returns what the self-test proved, then one line per problem.
std::string selftest_words(const SelftestSummary& summary);

}  // namespace proctor
