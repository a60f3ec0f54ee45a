// What to do with a device that was rejected: one action of a closed list, by what failed on it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/core/outcome.h"

namespace proctor {

// From the least effort to the most.
enum class AcceptAction { kRetest, kFixSoftware, kReset, kReboot, kReseat, kReplace };
inline constexpr std::size_t kAcceptActions = static_cast<std::size_t>(AcceptAction::kReplace) + 1;
std::string_view to_string(AcceptAction action);  // "fix software"

// What a failure means for the device: the rules are tried in order, and of several failures the one with the first rule is
// the reason.
struct ActionRule {
  std::size_t rank;  // 0 is the first
  AcceptAction action;
};

// `name`: SUITE/GROUP.NAME without the backend.
ActionRule action_for(std::string_view name, const Verdict& verdict);

}  // namespace proctor
