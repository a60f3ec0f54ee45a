// The facts about a check before it runs, and what it reports when it fails.
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

// How a fault makes the check fail: a failed assertion, a hang, a lost device, an abort of the process, or
// devices that are not leased (lease_check.h).
enum class Expects { kFail, kHang, kLost, kAbort, kMismatch };
std::string_view to_string(Expects expects);

inline constexpr Expects kFail = Expects::kFail;
inline constexpr Expects kHang = Expects::kHang;
inline constexpr Expects kLost = Expects::kLost;
inline constexpr Expects kAbort = Expects::kAbort;
inline constexpr Expects kMismatch = Expects::kMismatch;

// The amount of work for each size. 0: not given. It then equals the next smaller size that is given, or
// else the smallest one.
struct Sizes {
  std::int64_t smoke = 0;
  std::int64_t ci = 0;
  std::int64_t full = 0;
  std::int64_t stress = 0;
  std::string unit = {};  // "bytes", "elements", "launches"
};

// Number of points of its axes at which a check runs with size ci. Size smoke: a quarter. Sizes full and
// stress: the whole table (harness/base/axes.h).
inline constexpr int kPointsOfCi = 16;

struct CheckTraits {
  // Faults of the simulator, as in PROCTOR_SIM_FAULTS ("memory.corrupt_copy:at=17"). With each of them this
  // check must fail. The fastest is first.
  std::vector<std::string> faults = {};
  int devices = 1;  // how many devices the check leases; with ranks, how many each rank leases
  // How many processes execute the check at the same time, each as a rank; 0: one process that is not a rank.
  int ranks = 0;
  // Other requirements, without which the check is skipped: "tiles>=2", "fp64", "symbol:zesInit".
  std::vector<std::string> needs = {};
  Sizes sizes = {};
  std::vector<Axis> axes = {};  // for at_each_point()
  int points = kPointsOfCi;
  Expects expects = kFail;
  bool alone = false;  // needs a process in which no other check ran, or leaves one in which none should
};

struct CheckInfo {
  std::string group;
  std::string name;  // a parametrized check ends in "/PARAMETER"
  std::string rule;  // "V10"
  // Public document or code with the rule, and the place in it: "Level Zero specification, zeMemFree". The
  // source of a rule without a document is "project rule: " and a sentence. See docs/explanation/selftest.md, "What the suites cover".
  std::string source;
  Severity severity = kGate;
  const char* file = "";
  int line = 0;
  CheckTraits traits = {};

  std::string full_name() const { return group + "." + name; }
};

// The reason of a failure that is an exception. For severity warn and info it is only a warning, like any
// other failure: a driver may refuse what such a check requires.
inline constexpr const char* kException = "exception";

// A failure with all its details for the report.
struct Mismatch {
  std::string message{};
  std::string expected{};
  std::string got{};
  std::string device{};
  std::string reason{};  // machine-readable: the case becomes fail(reason)
};

// Verifies tables of checks. Separate from check.h, so that a normal GoogleTest can test it.

// Aborts the program if a table is empty, because a check without cases looks like a check that passed. A
// table in another file can be empty because it is initialised later.
bool require_added(bool added, const char* name);

}  // namespace proctor::suite
