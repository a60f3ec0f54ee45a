// The exemptions of the self-test: checks that no injected fault needs to fail. A data file lists each check
// with a reason.
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

inline constexpr std::size_t kMaxExemptions = 5;  // limit for each backend

// One entry of the file.
struct Exemption {
  std::string check;
  std::string reason;
};

// Parses the file. Errors are usage errors: invalid TOML, an entry without a reason, the same check twice,
// more than kMaxExemptions of one backend.
Result<std::vector<Exemption>> parse_exemptions(std::string_view text, const std::string& name);
Result<std::vector<Exemption>> load_exemptions(const std::string& path);

// Returns the exemptions of one backend: "xpu" selects visibility.xpu/Group.Name.
std::vector<Exemption> exemptions_of(std::string_view backend, const std::vector<Exemption>& all);

}  // namespace proctor
