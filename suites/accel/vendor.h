// Selects the vendor's API of this build of a suite. Checks are written once and compiled for each vendor. If
// a rule differs, both variants are written together:
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

// Names of codes that checks compare.
inline constexpr const char* kSuccess = by_vendor("ZE_RESULT_SUCCESS", "cudaSuccess");
inline constexpr const char* kNotReady = by_vendor("ZE_RESULT_NOT_READY", "cudaErrorNotReady");

}  // namespace proctor::accel
