// The policy of a gate: the tests that a release requires (docs/reference/gate.md). A file with only its cells has the
// strict default for every other key. The verdict lists each key with a weaker value.
//
//   [[cell]]
//   suite   = "memory"
//   backend = "xpu"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

inline constexpr int kGatePolicyVersion = 1;
inline constexpr std::chrono::hours kStrictMaxAge{72};
inline constexpr int kStrictMaxKnownFailures = 10;

// The minimum of a soak test.
struct GateSoak {
  double device_hours = 0;
  int resets = 0;
};

// One combination of suite, backend, stack and device that must have been tested.
struct GateCell {
  std::string name{};
  std::string suite{};
  std::string backend{};
  std::string stack{};   // the name of its lock; "": any
  std::string device{};  // a glob over the model; "": any
  int devices = 1;       // number of distinct devices that must have executed cases; 0: its cases use none
  std::string plan{};    // a file of `proctor plan`; "" for none
  std::optional<int> min_executed{};  // nothing: all cases of the plan
  std::string program{};              // SHA-256 of the tested program; "": any, but the same in all runs
  bool hardware = true;
  std::optional<GateSoak> soak{};
  int line = 0;
};

// A reason for which a skip is accepted.
struct GateSkip {
  std::string reason{};  // a glob
  std::string why{};
  int line = 0;
};

// A key of the policy with a weaker value than the strict default.
struct GateRelaxation {
  std::string key{};  // "gate.max_age", "cell.hardware"
  std::string value{};
  std::string strict{};
  int line = 0;
};

// The content of a policy file.
struct GatePolicy {
  std::string file{};  // for messages
  std::string sha256{};
  std::vector<std::string> subject = {"commit"};
  bool clean = true;
  Milliseconds max_age = kStrictMaxAge;
  std::string known_failures{};  // a file; "": no known failure is accepted
  int max_known_failures = kStrictMaxKnownFailures;
  bool baseline_required = false;
  // The allowed variables of those that may change what a test runs or how it judges; empty: none.
  std::vector<std::string> variables{};
  std::string signed_digests{};  // a file; "": the digests of journals are not checked
  double flaky_percent = 0;
  std::vector<GateSkip> skips{};
  std::vector<GateCell> cells{};
  std::vector<GateRelaxation> relaxations{};  // in the order of the file
};

// Parses a policy. `file` is for messages. Every mistake is a usage error with its line and the nearest valid word.
Result<GatePolicy> parse_gate_policy(std::string_view text, const std::string& file);

}  // namespace proctor
