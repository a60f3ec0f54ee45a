// Implements `proctor explain mask BACKEND VALUE`. It evaluates and explains CUDA_VISIBLE_DEVICES and ZE_AFFINITY_MASK
// without any device or driver.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "harness/cli/commands.h"

namespace proctor::cli {

struct MaskRequest {
  std::string backend;  // as typed: "cuda" or "xpu"
  std::string value;    // as typed; '' is a value
  std::optional<std::string> hierarchy;
  std::optional<std::string> topology;
};

// Prints verdict, entries, visible devices, driver and rules to `out`. Returns 0 for a valid value. Returns 2 if a
// driver would crash on the value or misread it; `err` then has the reasons. An invalid request also returns 2 and
// prints nothing to `out`.
int explain_mask(const MaskRequest& request, std::ostream& out, std::ostream& err);

void add_explain_mask(CLI::App& explain, Action& action);  // explain mask

}  // namespace proctor::cli
