// The release gate: judges runs by a policy at a given time. `proctor gate` calls it. The same inputs give the same
// verdict, byte for byte, in any order of the runs, on any machine and at any time. It reads no files.
//
// A rule is applied to each cell of the policy, or to all runs together. Each finding has the allowed limit and the
// actual value, also if the rule holds. docs/reference/gate.md lists the rules, each with the
// invalid release that it rejects.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/result.h"
#include "harness/base/version.h"
#include "reports/gate/journal_proof.h"
#include "reports/gate/plan_ids.h"
#include "reports/gate/policy.h"

namespace proctor {

// One entry of the list of known failures.
struct GateKnownFailure {
  std::vector<std::string> cases{};  // globs over the id
  Outcome outcome = Outcome::kFail;
  std::string reason{};  // a glob over the reason
  std::string driver{};  // a key of the run's stack; "": any
  VersionRange versions{};
  std::string backend{};  // "": any
  std::string device{};   // a glob over the model; "": any
  std::string owner{};
  std::string issue{};
  std::optional<Day> added{};           // the day on which the failure became known
  Day expires{};                        // the last day on which the entry holds
  bool predicted = false;               // the failure was never measured, so a pass is not a failure
  std::vector<std::string> mistakes{};  // why the entry excuses nothing; empty if it is valid
  std::string origin{};                 // "known_failures.toml:12"
};

// The list of known failures that the policy names.
struct GateKnownFailures {
  std::string file{};
  std::string sha256{};
  std::vector<GateKnownFailure> entries{};
};

// The cases that failed in an earlier run, to distinguish new failures from old ones.
struct GateBaseline {
  std::string name{};
  std::set<std::string> failed{};  // their ids
  std::string no_past{};           // why the baseline has no older run; "" if it has one
};

// The lock of a stack, and the differences that `stack verify` finds in each run.
struct GateLock {
  std::string sha256{};
  std::map<std::string, std::vector<std::string>> differences{};  // by the SHA-256 of the journal
};

// Everything that a verdict depends on.
struct GateInputs {
  GatePolicy policy{};
  std::vector<GateReport> reports{};
  std::map<std::string, GatePlan> plans{};  // by their names in the policy
  std::map<std::string, GateLock> locks{};  // by name
  std::optional<GateKnownFailures> known_failures{};
  std::map<std::string, std::string> subject{};  // the values of --subject
  std::optional<std::set<std::string>> signed_digests{};
  std::optional<GateBaseline> baseline{};
  std::string at{};               // the time of the judgement, UTC
  std::string proctor_version{};  // the version of the judging Proctor
};

// Adds the plans of cells that restrict their checks to the relaxations of the policy, each with its cell.
void note_weak_plans(GateInputs& inputs);

// The result of one rule.
struct GateFinding {
  std::string rule{};
  bool held = true;
  std::string limit{};                 // the allowed value
  std::string value{};                 // the actual value
  std::vector<std::string> reasons{};  // for a failed rule: one sentence for each reason
  std::vector<std::string> cases{};    // for a failed rule: the affected cases
};

// The verdict on one cell of the policy.
struct GateCellVerdict {
  GateCell cell{};
  std::vector<std::string> runs{};  // GateReport::name() of the runs in the cell
  int planned = 0;
  int executed = 0;
  std::vector<GateFinding> rules{};

  bool passed() const;
};

// A run that the verdict is based on.
struct GateEvidence {
  std::string run{};
  std::string host{};
  std::string sha256{};
  std::string started{};
  std::string finished{};
};

// The remaining days of an entry, and the number of cases that it excused.
struct GateEntryUse {
  std::string origin{};
  std::string cases{};
  std::string owner{};
  std::string issue{};
  std::optional<int> days_known{};
  int days_left = 0;
  int hits = 0;
};

// The verdict of the gate, with its evidence.
struct GateVerdict {
  std::string at{};
  std::vector<GateEvidence> runs{};
  std::map<std::string, std::string> subject{};  // the values that all runs share
  std::vector<GateEntryUse> known_failures{};
  std::vector<GateFinding> rules{};  // the rules for all runs together
  std::vector<GateCellVerdict> cells{};

  bool passed() const;
};

// Returns whether a case failed and then passed and no device is at fault, independent of its marks.
bool passed_after_failure(const ResolvedCase& test);
// Returns the attempts that a known failure must match. For a case that passed after a failure, these are its failed
// attempts. For other cases it is the deciding attempt, if there is one.
std::vector<const Attempt*> telling_attempts(const ResolvedCase& test);

// Returns the names of all rules in the order of a verdict. The rules for all runs together come first.
std::vector<std::string_view> gate_rules();

// Judges the runs. A usage error is a glob of the policy that matches nothing, or a number that the plan cannot reach.
// The rules in `left_out` are skipped, so that a test can prove that each rule is needed.
Result<GateVerdict> judge(const GateInputs& inputs, const std::set<std::string>& left_out = {});

}  // namespace proctor
