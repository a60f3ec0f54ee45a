#include "suites/main/check_info.h"

namespace proctor::suite {

std::string_view to_string(Expects expects) {
  switch (expects) {
    case Expects::kFail:
      return "fail";
    case Expects::kHang:
      return "hang";
    case Expects::kLost:
      return "lost";
    case Expects::kAbort:
      return "abort";
    case Expects::kMismatch:
      return "mismatch";
  }
  return "";
}

}  // namespace proctor::suite
