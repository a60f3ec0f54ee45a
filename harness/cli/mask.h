// `proctor mask lint|explain BACKEND VALUE`: judges and explains CUDA_VISIBLE_DEVICES and ZE_AFFINITY_MASK
// without any device or driver.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

namespace proctor::cli {

struct MaskRequest {
  std::string backend;  // as given: "cuda" or "xpu"
  std::string value;    // as given; '' is a value
  std::optional<std::string> hierarchy;
  std::optional<std::string> topology;
};

// 0: accepted, `out` says what it means, with warnings. 2: refused, or the request itself is wrong; `err`
// says why, and what the driver would have made of the value.
int run_mask_lint(const MaskRequest& request, std::ostream& out, std::ostream& err);

// 0 for every value, also for a refused one; 2 when the request itself is wrong.
int run_mask_explain(const MaskRequest& request, std::ostream& out, std::ostream& err);

}  // namespace proctor::cli
