#include "harness/process/case_pids.h"

#include <charconv>
#include <numeric>
#include <string>

#include "harness/base/read_file.h"

namespace proctor {
namespace {

constexpr double kGoldenRatio = 0.6180339887498949;
constexpr std::uint64_t kFewestPids = 301;  // the kernel's least pid_max

}  // namespace

CasePids::CasePids(std::uint64_t pid_max) {
  if (pid_max < kFewestPids) return;
  range_ = pid_max;
  factor_ = static_cast<std::uint64_t>(kGoldenRatio * static_cast<double>(pid_max));
  while (std::gcd(factor_, range_) != 1) ++factor_;  // each guard then has a pid of its own
}

CasePids case_pids_here() {
  const std::string text = read_file_or_empty("/proc/sys/kernel/pid_max");
  std::uint64_t pid_max = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid_max);
  return CasePids(pid_max);
}

}  // namespace proctor
