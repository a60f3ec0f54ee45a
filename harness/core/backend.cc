#include "harness/core/backend.h"

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

}  // namespace proctor
