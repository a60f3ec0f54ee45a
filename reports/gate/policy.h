// The policy of a gate: what must be there before something is released (docs/reference/gate.md). A file that says
// nothing but which cells there are has the strict value for everything else; where it says something weaker, that is
// listed in the verdict.
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

struct GateSoak {
  double device_hours = 0;
  int resets = 0;
};

// One thing that must have been tested.
struct GateCell {
  std::string name{};
  std::string suite{};
  std::string backend{};
  std::string stack{};                // the name of its lock; "": any
  std::string device{};               // glob over the model; "": any
  int devices = 1;                    // distinct ones that executed something; 0: its cases get none
  std::string plan{};                 // file of `proctor plan`; ""
  std::optional<int> min_executed{};  // none: all that the cell plans
  std::string program{};              // SHA-256 of the tested program; "": any, but one
  bool hardware = true;
  std::optional<GateSoak> soak{};
  int line = 0;
};

// A reason that makes a skip good.
struct GateSkip {
  std::string reason{};  // glob
  std::string why{};
  int line = 0;
};

// Where the policy asks for less than it would by saying nothing.
struct GateRelaxation {
  std::string key{};  // "gate.max_age", "cell.hardware"
  std::string value{};
  std::string strict{};
  int line = 0;
};

struct GatePolicy {
  std::string file{};  // for messages
  std::string sha256{};
  std::vector<std::string> subject = {"commit"};
  bool clean = true;
  Milliseconds max_age = kStrictMaxAge;
  std::string known_failures{};  // a file; "": none is accepted
  int max_known_failures = kStrictMaxKnownFailures;
  bool baseline_required = false;
  std::vector<std::string> variables{};  // that may change what a test runs or how it judges; empty: none may
  std::string signed_digests{};          // a file; "": the digests of journals are not looked up
  double flaky_percent = 0;
  std::vector<GateSkip> skips{};
  std::vector<GateCell> cells{};
  std::vector<GateRelaxation> relaxations{};  // in the order of the file
};

// `file` is for messages. Every mistake is a usage error with its line and the nearest word.
Result<GatePolicy> parse_gate_policy(std::string_view text, const std::string& file);

}  // namespace proctor
