// What doctor says about one thing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

enum class HostState { kOk, kWarn, kBroken };
std::string_view to_string(HostState state);

struct HostFinding {
  HostState state = HostState::kOk;
  std::string check{};  // "host-driver"; "known-bad:ID" for a rule
  std::string what{};   // what was found
  std::string where{};  // the file or device that shows it
  std::string fix{};    // one line that repairs it; "" if there is nothing to repair
  std::vector<std::string> sources{};
};

using HostFindings = std::vector<HostFinding>;

}  // namespace proctor
