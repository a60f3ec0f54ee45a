// The texts of options that have a form: --flaky and --containment.
#pragma once

#include <optional>
#include <string_view>

#include "harness/base/result.h"
#include "harness/journal/containment_layer.h"

namespace proctor {

// ---- --flaky ----

// How a run judges cases that failed and then passed.
struct FlakyPolicy {
  bool passes = false;  // within the budget
  int budget = 0;       // percent of the executed cases, and above 0 at least one case
};

// "fail", or "pass:2%".
Result<FlakyPolicy> parse_flaky(std::string_view text);
Result<void> check_flaky(std::string_view text);
// The regular expression matches every valid text.
inline constexpr std::string_view kFlakyForm = "^(fail|pass:([0-9]|[1-9][0-9]|100)%)$";

// ---- --containment ----

inline constexpr const char* kAnyLayer = "auto";

struct Layers {
  std::optional<Layer> wanted{};    // none: the best one
  std::optional<Layer> required{};  // nothing weaker
};

// A layer, ">=LAYER", or "auto" and "", which are the same.
Result<Layers> parse_layers(std::string_view text);
Result<void> check_layers(std::string_view text);

}  // namespace proctor
