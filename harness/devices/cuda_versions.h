// Which NVIDIA driver a CUDA Runtime needs. The runner checks it, because a container can start on a driver
// that is too old: nvidia-container-toolkit ignores NVIDIA_REQUIRE_CUDA in CDI mode, its default since 1.18
// (NVIDIA/nvidia-container-toolkit#1470).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace proctor {

struct CudaToolkitDriver {
  std::string_view toolkit;  // "13.0 U2"
  int cuda;                  // 13000: version number of its runtime and of that driver
  std::string_view driver;   // its driver for Linux: "580.95.05"
};
// Newest first. Source: NVIDIA, CUDA Toolkit release notes, "CUDA Toolkit and Corresponding Driver Versions".
std::span<const CudaToolkitDriver> cuda_toolkit_drivers();

// The oldest driver that runs programs of all releases of this major version, for example 580 for 13;
// nullopt: not known. Source: NVIDIA, CUDA Compatibility, "Minor Version Compatibility".
std::optional<int> least_cuda_driver(int major);

enum class CudaRelation {
  kNative,   // the driver is as new as the runtime
  kMinor,    // the driver is older, of the same major version: it may refuse newer functions of the runtime
  kForward,  // the kernel's driver is too old, but a newer libcuda.so.1 (cuda-compat) supports the runtime
  kTooOld,
  kUnknown,  // no version, or one that is not in the table
};
std::string_view to_string(CudaRelation relation);  // "native", "minor", ...

// `runtime`: 13000. `driver`: version of the kernel's driver from NVML ("580.95.05"); "": not known. `cuda`:
// newest version that libcuda.so.1 supports, from cudaDriverGetVersion; 0: there is none.
CudaRelation cuda_relation(int runtime, std::string_view driver, int cuda);

// "13.0" for 13000.
std::string cuda_version_text(int version);

// One sentence about a driver that is too old, with the required and the installed version.
std::string needed_cuda_driver(int runtime, std::string_view driver, int cuda);

}  // namespace proctor
