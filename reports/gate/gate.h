// Whether something may be released: a policy, the runs, and a moment, and nothing else. Same inputs, same verdict, byte for
// byte: in any order of the runs, on any machine, at any hour.
//
// A rule is asked of each cell of the policy, or of all runs together. Each says what it allows and what there is, also
// where it held; docs/reference/gate.md has them all, each with the wrong way to pass that it closes.
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

// An entry of the list of known failures.
struct GateKnownFailure {
  std::vector<std::string> cases{};  // globs over the id
  Outcome outcome = Outcome::kFail;
  std::string reason{};  // glob
  std::string driver{};  // a key of the run's stack; "": any
  VersionRange versions{};
  std::string backend{};  // "": any
  std::string device{};   // glob over the model; "": any
  std::string owner{};
  std::string issue{};
  std::optional<Day> added{};           // since when it is known
  Day expires{};                        // the last day on which it holds
  bool predicted = false;               // never measured: a pass is a result, and no failure
  std::vector<std::string> mistakes{};  // why it excuses nothing; empty: it holds
  std::string origin{};                 // "known_failures.toml:12"
};

struct GateKnownFailures {
  std::string file{};
  std::string sha256{};
  std::vector<GateKnownFailure> entries{};
};

// What failed before, to tell what failed newly from what failed before.
struct GateBaseline {
  std::string name{};
  std::set<std::string> failed{};  // ids
  std::string no_past{};           // why nothing older stands in it; "": something does
};

// What the lock of a stack is, and what `stack verify` says of each run by it.
struct GateLock {
  std::string sha256{};
  std::map<std::string, std::vector<std::string>> differences{};  // by the SHA-256 of the journal
};

struct GateInputs {
  GatePolicy policy{};
  std::vector<GateReport> reports{};
  std::map<std::string, GatePlan> plans{};  // by their names in the policy
  std::map<std::string, GateLock> locks{};  // by name
  std::optional<GateKnownFailures> known_failures{};
  std::map<std::string, std::string> subject{};  // --subject
  std::optional<std::set<std::string>> signed_digests{};
  std::optional<GateBaseline> baseline{};
  std::string at{};               // UTC
  std::string proctor_version{};  // of the gate
};

// The plans of cells may try less than they could: that is listed among what the policy weakens, each with its cell.
void note_weak_plans(GateInputs& inputs);

// What one rule says.
struct GateFinding {
  std::string rule{};
  bool held = true;
  std::string limit{};                 // what it allows
  std::string value{};                 // what there is
  std::vector<std::string> reasons{};  // not held: why, a sentence each
  std::vector<std::string> cases{};    // not held: which ones
};

struct GateCellVerdict {
  GateCell cell{};
  std::vector<std::string> runs{};  // GateReport::name() of those that fill it
  int planned = 0;
  int executed = 0;
  std::vector<GateFinding> rules{};

  bool passed() const;
};

// A run that the verdict is of.
struct GateEvidence {
  std::string run{};
  std::string host{};
  std::string sha256{};
  std::string started{};
  std::string finished{};
};

// How long an entry still holds, and how many cases it excused.
struct GateEntryUse {
  std::string origin{};
  std::string cases{};
  std::string owner{};
  std::string issue{};
  std::optional<int> days_known{};
  int days_left = 0;
  int hits = 0;
};

struct GateVerdict {
  std::string at{};
  std::vector<GateEvidence> runs{};
  std::map<std::string, std::string> subject{};  // as all runs have it
  std::vector<GateEntryUse> known_failures{};
  std::vector<GateFinding> rules{};  // of all runs together
  std::vector<GateCellVerdict> cells{};

  bool passed() const;
};

// Whether a case failed and then passed, and no device is at fault, whatever its marks are.
bool passed_after_failure(const ResolvedCase& test);
// The attempts that a known failure may be about: each failed one of a case that passed after a failure, else the one that
// decided, if any.
std::vector<const Attempt*> telling_attempts(const ResolvedCase& test);

// The names of all rules, in the order in which a verdict has them; first those of all runs together.
std::vector<std::string_view> gate_rules();

// A usage error: a glob of the policy that matches nothing, a number that the plan cannot reach. `left_out` are rules that
// are not asked, for the test that each of them is needed.
Result<GateVerdict> judge(const GateInputs& inputs, const std::set<std::string>& left_out = {});

}  // namespace proctor
