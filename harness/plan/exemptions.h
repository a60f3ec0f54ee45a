// Checks that need no fault that kills them in the self-test, each by name and with a reason: a short list in
// a data file.
//
//   [[exempt]]
//   check  = "visibility.xpu/Group.Name"
//   reason = "no fault below the driver interface can break it: ..."
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

inline constexpr std::size_t kMaxExemptions = 5;  // of one backend

struct Exemption {
  std::string check;
  std::string reason;
};

// Errors are usage errors: bad TOML, an entry without a reason, the same check twice, more than
// kMaxExemptions of one backend.
Result<std::vector<Exemption>> parse_exemptions(std::string_view text, const std::string& name);
Result<std::vector<Exemption>> load_exemptions(const std::string& path);

// The exemptions for the checks of one backend: "xpu" for visibility.xpu/Group.Name.
std::vector<Exemption> exemptions_of(std::string_view backend, const std::vector<Exemption>& all);

}  // namespace proctor
