#include "harness/base/backend.h"

#include "harness/base/text.h"

namespace proctor {

std::string_view to_string(Backend backend) {
  switch (backend) {
    case Backend::kCuda:
      return "cuda";
    case Backend::kXpu:
      return "xpu";
    case Backend::kNone:
      return "none";
  }
  return "?";
}

std::optional<Backend> parse_backend(std::string_view text) {
  for (Backend backend : {Backend::kCuda, Backend::kXpu, Backend::kNone}) {
    if (to_string(backend) == text) return backend;
  }
  return std::nullopt;
}

std::string backend_hint(std::string_view word) {
  const std::string vendors = "NVIDIA devices are `cuda`, Intel devices `xpu`, and `none` is no device.";
  // One letter from `xpu`, and a word for both.
  const std::string near = word == "gpu" ? "" : did_you_mean(word, {"cuda", "xpu", "none"});
  return near.empty() ? vendors : near + " " + vendors;
}

}  // namespace proctor
