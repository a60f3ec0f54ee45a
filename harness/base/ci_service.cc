#include "harness/base/ci_service.h"

#include <cstdlib>
#include <string_view>

namespace proctor {
namespace {

std::string_view value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

}  // namespace

bool in_github_actions() { return value_of("GITHUB_ACTIONS") == "true"; }

bool in_ci() {
  const std::string_view text = value_of("CI");
  return !text.empty() && text != "false" && text != "0";
}

}  // namespace proctor
