// Which vendor's API this build of a suite is for. Checks are written once and compiled for each of them;
// where a rule differs, both variants stand in one place:
//
//   const char* const kCopy = by_vendor("Level Zero specification, Copies",
//                                       "CUDA Runtime API, cudaMemcpyAsync");
#pragma once

#include <string>
#include <vector>

namespace proctor::accel {

using Texts = std::vector<std::string>;

enum class Vendor { kIntel, kNvidia };
inline constexpr Vendor kVendor = Vendor::PROCTOR_ACCEL_VENDOR;

template <typename T>
constexpr T by_vendor([[maybe_unused]] T xpu, [[maybe_unused]] T cuda) {
  if constexpr (kVendor == Vendor::kIntel) {
    return xpu;
  } else {
    return cuda;
  }
}

// Names of codes that checks ask for.
inline constexpr const char* kSuccess = by_vendor("ZE_RESULT_SUCCESS", "cudaSuccess");
inline constexpr const char* kNotReady = by_vendor("ZE_RESULT_NOT_READY", "cudaErrorNotReady");

}  // namespace proctor::accel
