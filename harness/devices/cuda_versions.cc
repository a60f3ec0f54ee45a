#include "harness/devices/cuda_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace proctor {
namespace {

constexpr CudaToolkitDriver kDrivers[] = {
    {"13.2 U2", 13020, "595.71.05"}, {"13.2 U1", 13020, "595.58.03"},  {"13.2", 13020, "595.45.04"},
    {"13.1 U1", 13010, "590.48.01"}, {"13.1", 13010, "590.44.01"},     {"13.0 U2", 13000, "580.95.05"},
    {"13.0 U1", 13000, "580.82.07"}, {"13.0", 13000, "580.65.06"},     {"12.9 U1", 12090, "575.57.08"},
    {"12.9", 12090, "575.51.03"},    {"12.8 U1", 12080, "570.124.06"}, {"12.8", 12080, "570.26"},
    {"12.6 U3", 12060, "560.35.05"}, {"12.6", 12060, "560.28.03"},     {"12.5 U1", 12050, "555.42.06"},
    {"12.5", 12050, "555.42.02"},    {"12.4 U1", 12040, "550.54.15"},  {"12.4", 12040, "550.54.14"},
    {"12.3 U1", 12030, "545.23.08"}, {"12.3", 12030, "545.23.06"},     {"12.2 U2", 12020, "535.104.05"},
    {"12.2", 12020, "535.54.03"},    {"12.1", 12010, "530.30.02"},     {"12.0 U1", 12000, "525.85.12"},
    {"12.0", 12000, "525.60.13"},    {"11.8", 11080, "520.61.05"},
};

struct Family {
  int major;
  int driver;
};
constexpr Family kFamilies[] = {{13, 580}, {12, 525}, {11, 450}};

// Returns the numbers of "580.95.05". The first character that is not a number or a dot ends the list.
std::vector<int> numbers(std::string_view version) {
  std::vector<int> result;
  for (const char *at = version.data(), *end = at + version.size(); at < end; ++at) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) break;
    result.push_back(number);
    at = next;
    if (at == end || *at != '.') break;
  }
  return result;
}

int major_of(int version) { return version / 1000; }

// Returns the first toolkit release with this runtime version.
const CudaToolkitDriver* first_release(int runtime) {
  const auto found = std::find_if(std::rbegin(kDrivers), std::rend(kDrivers),
                                  [&](const CudaToolkitDriver& row) { return row.cuda == runtime; });
  return found == std::rend(kDrivers) ? nullptr : &*found;
}

// Judges by the kernel's driver alone. A newer libcuda.so.1 can still make kTooOld work.
CudaRelation by_kernel_driver(int runtime, const std::vector<int>& driver) {
  const auto* native = first_release(runtime);
  if (native != nullptr && driver >= numbers(native->driver)) return CudaRelation::kNative;
  const auto least = least_cuda_driver(major_of(runtime));
  if (!least) return CudaRelation::kUnknown;
  if (driver.front() < *least) return CudaRelation::kTooOld;
  return native == nullptr ? CudaRelation::kUnknown : CudaRelation::kMinor;
}

}  // namespace

std::span<const CudaToolkitDriver> cuda_toolkit_drivers() { return kDrivers; }

std::optional<int> least_cuda_driver(int major) {
  for (const Family& family : kFamilies) {
    if (family.major == major) return family.driver;
  }
  return std::nullopt;
}

std::string_view to_string(CudaRelation relation) {
  switch (relation) {
    case CudaRelation::kNative:
      return "native";
    case CudaRelation::kMinor:
      return "minor";
    case CudaRelation::kForward:
      return "forward";
    case CudaRelation::kTooOld:
      return "too_old";
    case CudaRelation::kUnknown:
      return "unknown";
  }
  return "unknown";
}

CudaRelation cuda_relation(int runtime, std::string_view driver, int cuda) {
  if (runtime <= 0) return CudaRelation::kUnknown;
  const auto kernel = numbers(driver);
  const auto by_kernel = kernel.empty() ? CudaRelation::kUnknown : by_kernel_driver(runtime, kernel);
  if (by_kernel == CudaRelation::kTooOld && cuda >= runtime) return CudaRelation::kForward;
  if (by_kernel != CudaRelation::kUnknown) return by_kernel;
  if (cuda <= 0) return CudaRelation::kUnknown;
  if (cuda >= runtime) return CudaRelation::kNative;
  return major_of(cuda) == major_of(runtime) ? CudaRelation::kMinor : CudaRelation::kTooOld;
}

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string needed_cuda_driver(int runtime, std::string_view driver, int cuda) {
  const auto least = least_cuda_driver(major_of(runtime));
  const std::string need = least ? fmt::format("driver {} or later", *least) : "a newer driver";
  std::string have = driver.empty() ? "this one" : fmt::format("this one, {},", driver);
  if (cuda > 0) have += fmt::format(" goes up to CUDA {}", cuda_version_text(cuda));
  if (cuda <= 0) have += " is older";
  return fmt::format("the CUDA Runtime {} needs {}; {}", cuda_version_text(runtime), need, have);
}

}  // namespace proctor
