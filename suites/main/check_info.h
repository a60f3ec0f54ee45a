// The facts about a check before it runs, and what it reports when it fails.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/axes.h"
#include "harness/core/event_words.h"

namespace proctor::suite {

using proctor::Severity;
inline constexpr Severity kGate = Severity::kGate;
inline constexpr Severity kWarn = Severity::kWarn;
inline constexpr Severity kInfo = Severity::kInfo;

// How a fault makes the check fail: by a failed assertion, by no end in time, by a lost device, by an abort of the
// process, or by devices that are not the leased ones (lease_check.h).
enum class Expects { kFail, kHang, kLost, kAbort, kMismatch };
std::string_view to_string(Expects expects);

inline constexpr Expects kFail = Expects::kFail;
inline constexpr Expects kHang = Expects::kHang;
inline constexpr Expects kLost = Expects::kLost;
inline constexpr Expects kAbort = Expects::kAbort;
inline constexpr Expects kMismatch = Expects::kMismatch;

// How much a check does under each --size. A size that is 0 was not given and means as much as the next
// smaller size that was; if there is none, as much as the smallest one.
struct Sizes {
  std::int64_t smoke = 0;
  std::int64_t ci = 0;
  std::int64_t full = 0;
  std::int64_t stress = 0;
  std::string unit = {};  // "bytes", "elements", "launches"
};

// At how many points of its axes a check is tried: under size full and stress at all of its table (harness/core/axes.h),
// under smoke at a quarter as many as under ci.
inline constexpr int kPointsOfCi = 16;

struct CheckTraits {
  // Faults of the simulator, each written as in PROCTOR_SIM_FAULTS ("memory.corrupt_copy:at=17"). Under each
  // of them this check must fail. The cheapest comes first.
  std::vector<std::string> faults = {};
  int devices = 1;  // how many devices the check leases; with ranks, how many each rank leases
  // How many processes execute the check at the same time, each as a rank; 0: one
  // process, which is not a rank.
  int ranks = 0;
  // What else must be there, or the check is skipped: "tiles>=2", "fp64", "symbol:zesInit".
  std::vector<std::string> needs = {};
  Sizes sizes = {};
  std::vector<Axis> axes = {};  // what at_each_point() tries it with
  int points = kPointsOfCi;
  Expects expects = kFail;
};

struct CheckInfo {
  std::string group;
  std::string name;  // a parametrized check ends in "/PARAMETER"
  std::string rule;  // "V10"
  // Public document or code that the rule comes from, and the place in it: "Level Zero specification, zeMemFree". What no
  // document demands begins with "ours: ". docs/explanation/selftest.md, "What the suites cover".
  std::string source;
  Severity severity = kGate;
  const char* file = "";
  int line = 0;
  CheckTraits traits = {};

  std::string full_name() const { return group + "." + name; }
};

// The reason of a failure that is an exception. It is as much a matter of opinion as any other: a driver that refuses what a
// warning asks for is no worse than one that answers otherwise.
inline constexpr const char* kException = "exception";

// A failure with everything that a report can show.
struct Mismatch {
  std::string message{};
  std::string expected{};
  std::string got{};
  std::string device{};
  std::string reason{};  // machine-readable: the case becomes fail(reason)
};

}  // namespace proctor::suite
