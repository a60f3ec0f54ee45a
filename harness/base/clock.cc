#include "harness/base/clock.h"

#include <ctime>

namespace proctor {
namespace {

std::string format_utc_now(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

std::string utc_now() { return format_utc_now("%Y-%m-%dT%H:%M:%SZ"); }

}  // namespace proctor
