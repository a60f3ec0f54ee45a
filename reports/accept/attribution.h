// Which device the failure of several devices counts against.
//
// A trial is one try of one case. Each device has a part in it: it is the source of a copy, the target, or one of equals.
// A trial that went right clears its parts, unless the same parts failed in another trial. A trial that failed is then one
// of these:
//
//   device      it is the only device of the trial, or the only one with a part that is not cleared, and that part failed
//               with two different sets of others: it is guilty
//   explained   another trial or case found one of its devices guilty
//   connection  all parts are cleared: each device works with others, and these do not work together
//   undecided   all else: one of its devices is wrong, or their connection, and no other trial shows which
//
// For copies between each two of four devices, this is the matrix of sources and targets: a wrong row or column is a device,
// and a single wrong place is a connection.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <vector>

namespace proctor {

struct TrialPart {
  std::string device;  // its id
  std::string role;

  friend auto operator<=>(const TrialPart&, const TrialPart&) = default;
};

struct TrialResult {
  bool ok = true;
  std::vector<TrialPart> parts;
};

struct Attribution {
  enum class Kind { kExplained, kDevice, kUndecided, kConnection };
  Kind kind = Kind::kUndecided;
  std::vector<std::string> devices;  // sorted: the guilty one, or those among which one is
};

// The devices that these trials of one case find guilty.
std::vector<std::string> guilty_devices(const std::vector<TrialResult>& trials);

// Returns one for each failed trial, in order. `is_guilty`: a case that explains this one found the device guilty.
std::vector<Attribution> attribute(const std::vector<TrialResult>& trials,
                                   const std::function<bool(const std::string& device)>& is_guilty);

}  // namespace proctor
