// Attributes the failure of a case with several devices to one of them. `proctor accept` uses it. It reads trials only,
// and does not depend on cases or steps.
//
// A trial is one try of one case. Each device has a part in it: source of a copy, target of a copy, or one of equals. A
// successful trial clears its parts, unless the same parts failed in another trial. A failed
// trial has one of these results:
//
//   device      its only device is guilty. If it has several devices, a device is guilty if its part is the only one
//               that is not cleared, and if that part failed with two different sets of partners
//   explained   another trial or case found one of its devices guilty
//   connection  all parts are cleared: each device works with others, but these devices fail together
//   undecided   any other trial: a device or a connection is at fault, and no other trial shows which one
//
// For copies between every two of four devices, the trials form a matrix of sources and targets. A failing row or
// column is a device, and a single failing cell is a connection.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <vector>

namespace proctor {

// A device and its role in a trial.
struct TrialPart {
  std::string device;  // its id
  std::string role;

  friend auto operator<=>(const TrialPart&, const TrialPart&) = default;
};

// One trial: whether it succeeded, and its parts.
struct TrialResult {
  bool ok = true;
  std::vector<TrialPart> parts;
};

// The attribution of one failed trial.
struct Attribution {
  enum class Kind { kExplained, kDevice, kUndecided, kConnection };
  Kind kind = Kind::kUndecided;
  std::vector<std::string> devices;  // sorted: the guilty device, or the devices that may be guilty
};

// Returns the devices that the trials of one case prove guilty.
std::vector<std::string> guilty_devices(const std::vector<TrialResult>& trials);

// Returns one attribution for each failed trial, in order. `is_guilty` returns whether a case that explains this one
// found the device guilty.
std::vector<Attribution> attribute(const std::vector<TrialResult>& trials,
                                   const std::function<bool(const std::string& device)>& is_guilty);

}  // namespace proctor
