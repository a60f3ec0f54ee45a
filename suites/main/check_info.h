// The facts about a check that are fixed before it runs, and the details of its failures. check.h uses these
// structs; they contain no GoogleTest types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/axes.h"
#include "harness/journal/event_words.h"

namespace proctor::suite {

using proctor::Severity;
inline constexpr Severity kGate = Severity::kGate;
inline constexpr Severity kWarn = Severity::kWarn;
inline constexpr Severity kInfo = Severity::kInfo;

// The way in which a fault makes the check fail: a failed assertion, a hang, a lost device, an abort of the
// process, or visible devices that are not leased (lease_check.h).
enum class Expects { kFail, kHang, kLost, kAbort, kMismatch };
std::string_view to_string(Expects expects);

inline constexpr Expects kFail = Expects::kFail;
inline constexpr Expects kHang = Expects::kHang;
inline constexpr Expects kLost = Expects::kLost;
inline constexpr Expects kAbort = Expects::kAbort;
inline constexpr Expects kMismatch = Expects::kMismatch;

// The amount of work for each size of a run. 0 means that the amount is not given. It is then the amount of the
// next smaller size that has one, or else of the smallest.
struct Sizes {
  std::int64_t smoke = 0;
  std::int64_t ci = 0;
  std::int64_t full = 0;
  std::int64_t stress = 0;
  std::string unit = {};  // "bytes", "elements", "launches"
};

// The number of points of its axes at which a check runs with size ci. Size smoke runs a quarter of them. Sizes
// full and stress run the whole table (harness/base/axes.h).
inline constexpr int kPointsOfCi = 16;

// Optional properties of a check: faults, devices, requirements, amount of work and axes.
struct CheckTraits {
  // Faults of the simulator, as in PROCTOR_SIM_FAULTS ("memory.corrupt_copy:at=17"). Each of them must make this
  // check fail. The fastest is first.
  std::vector<std::string> faults = {};
  int devices = 1;  // how many devices the check leases; with ranks, how many each rank leases
  // The number of processes that execute the check at the same time, each as a rank. 0: one process that is not a
  // rank.
  int ranks = 0;
  // Other requirements, without which the check is skipped: "tiles>=2", "fp64", "symbol:zesInit".
  std::vector<std::string> needs = {};
  Sizes sizes = {};
  std::vector<Axis> axes = {};  // for at_each_point()
  int points = kPointsOfCi;
  Expects expects = kFail;
  // The check requires a process in which no other check ran, or leaves one in which none may run.
  bool alone = false;
};

// All properties of a check. `file` and `line` are the place of its definition.
struct CheckInfo {
  std::string group;
  std::string name;  // a parametrized check ends in "/PARAMETER"
  std::string rule;  // "V10"
  // The public document or code that contains the rule, and the place in it: "Level Zero specification,
  // zeMemFree". If no document contains the rule, the text begins with "project rule: ". See docs/explanation/selftest.md,
  // "What the suites cover".
  std::string source;
  Severity severity = kGate;
  const char* file = "";
  int line = 0;
  CheckTraits traits = {};

  std::string full_name() const { return group + "." + name; }
};

// The reason of a failure by an exception. For severity warn and info this failure is only a warning, like any
// other: a driver may refuse what such a check requires.
inline constexpr const char* kException = "exception";

// A failure with all its details for the report.
struct Mismatch {
  std::string message{};
  std::string expected{};
  std::string got{};
  std::string device{};
  std::string reason{};  // machine-readable: the case becomes fail(reason)
};

// Verifies tables of checks. It is separate from check.h, so that a normal GoogleTest can test it.

// Aborts the program if a table is empty, because a check without cases looks like a check that passed. A
// table in another file can be empty because it is initialised later.
bool require_added(bool added, const char* name);

}  // namespace proctor::suite
