// One message of the kernel log, as the harness passes it on.
#pragma once

#include <cstdint>
#include <string>

namespace proctor {

struct KernelLine {
  std::int64_t time_us = 0;  // monotonic, since boot; 0: not known
  int level = 6;             // 0 emergency .. 7 debug
  std::string text{};
  std::string device{};  // PCI address of the device that the kernel itself names beside the text, or ""

  friend bool operator==(const KernelLine&, const KernelLine&) = default;
};

}  // namespace proctor
