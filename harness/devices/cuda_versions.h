// Which NVIDIA driver a CUDA Runtime needs. The runner checks it by itself: nvidia-container-toolkit does not
// look at NVIDIA_REQUIRE_CUDA in CDI mode, its default since 1.18 (NVIDIA/nvidia-container-toolkit#1470), so
// a container can start on a driver that is too old for it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace proctor {

struct CudaToolkitDriver {
  std::string_view toolkit;  // "13.0 U2"
  int cuda;                  // 13000: what its runtime and that driver call themselves
  std::string_view driver;   // the driver that came with it, on Linux: "580.95.05"
};
// Newest first. Source: NVIDIA, CUDA Toolkit release notes, "CUDA Toolkit and Corresponding Driver Versions".
std::span<const CudaToolkitDriver> cuda_toolkit_drivers();

// The oldest driver on which programs of any release of this major version run, e.g. 580 for 13; none if not
// known. Source: NVIDIA, CUDA Compatibility, "Minor Version Compatibility".
std::optional<int> least_cuda_driver(int major);

enum class CudaRelation {
  kNative,   // the driver is as new as the runtime
  kMinor,    // older, of the same major version: newer functions of the runtime may be refused
  kForward,  // the kernel's driver is too old for the runtime, a newer libcuda.so.1 (cuda-compat) stands
             // between
  kTooOld,
  kUnknown,  // no version, or one that the table does not have
};
std::string_view to_string(CudaRelation relation);  // "native", "minor", ...

// `runtime`: 13000. `driver`: the kernel's, as NVML says it ("580.95.05"); "": not known. `cuda`: what
// libcuda.so.1 can do at most, as cudaDriverGetVersion says it; 0: there is none.
CudaRelation cuda_relation(int runtime, std::string_view driver, int cuda);

// "13.0" for 13000.
std::string cuda_version_text(int version);

// One sentence about a driver that is too old: what is needed, and what there is.
std::string needed_cuda_driver(int runtime, std::string_view driver, int cuda);

}  // namespace proctor
