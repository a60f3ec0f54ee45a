// Determines the NVIDIA driver that a CUDA Runtime needs. The runner checks this itself, because a container
// can start on a driver that is too old: nvidia-container-toolkit ignores NVIDIA_REQUIRE_CUDA in CDI mode,
// its default since 1.18 (NVIDIA/nvidia-container-toolkit#1470).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace proctor {

// A CUDA toolkit release and the driver that it contains.
struct CudaToolkitDriver {
  std::string_view toolkit;  // "13.0 U2"
  int cuda;                  // 13000: version number of its runtime, and of the CUDA version of that driver
  std::string_view driver;   // its driver for Linux: "580.95.05"
};
// Newest first. Source: NVIDIA, CUDA Toolkit release notes, "CUDA Toolkit and Corresponding Driver Versions".
std::span<const CudaToolkitDriver> cuda_toolkit_drivers();

// Returns the oldest driver branch that runs programs of all releases of this major version: 580 for 13.
// nullopt: unknown. Source: NVIDIA, CUDA Compatibility, "Minor Version Compatibility".
std::optional<int> least_cuda_driver(int major);

// How a CUDA Runtime and the installed driver fit together.
enum class CudaRelation {
  kNative,   // the driver is at least as new as the runtime
  kMinor,    // the driver is older, of the same major version: it may refuse newer functions of the runtime
  kForward,  // the kernel's driver is too old, but a newer libcuda.so.1 (cuda-compat) supports the runtime
  kTooOld,
  kUnknown,  // no version, or one that is not in the table
};
std::string_view to_string(CudaRelation relation);  // "native", "minor", ...

// `runtime`: 13000. `driver`: version of the kernel's driver from NVML ("580.95.05"); "": unknown. `cuda`:
// newest version that libcuda.so.1 supports, from cudaDriverGetVersion; 0: no libcuda.so.1.
CudaRelation cuda_relation(int runtime, std::string_view driver, int cuda);

// Returns "13.0" for 13000.
std::string cuda_version_text(int version);

// Returns one sentence about a driver that is too old, with the required and the installed version.
std::string needed_cuda_driver(int runtime, std::string_view driver, int cuda);

}  // namespace proctor
