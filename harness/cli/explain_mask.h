// `proctor explain mask BACKEND VALUE`: judges and explains CUDA_VISIBLE_DEVICES and ZE_AFFINITY_MASK without any
// device or driver.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "harness/cli/commands.h"

namespace proctor::cli {

struct MaskRequest {
  std::string backend;  // as given: "cuda" or "xpu"
  std::string value;    // as given; '' is a value
  std::optional<std::string> hierarchy;
  std::optional<std::string> topology;
};

// `out`: what the value means: the verdict, each entry, what is visible, the driver and the rules. 0: accepted. 2: a driver
// would crash on the value or misread it, and `err` lists why; or the request itself is wrong, and `out` stays empty.
int explain_mask(const MaskRequest& request, std::ostream& out, std::ostream& err);

void add_explain_mask(CLI::App& explain, Action& action);  // explain mask

}  // namespace proctor::cli
