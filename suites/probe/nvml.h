// NVML, found at run time. The parts that are used are declared here, so that the build needs no CUDA. NVML
// makes no CUDA context, ignores CUDA_VISIBLE_DEVICES and lists devices in PCI order. Source: NVIDIA, NVML
// API Reference Guide (nvml.h keeps the ABI of its versioned functions).
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

namespace proctor::probe {

namespace nvml {

using Device = void*;
using Result = int;  // nvmlReturn_t
inline constexpr Result kSuccess = 0;
inline constexpr Result kInsufficientSize = 7;
inline constexpr Result kGpuIsLost = 15;

struct Memory {  // nvmlMemory_t
  unsigned long long total, free, used;
};
struct Utilization {  // nvmlUtilization_t
  unsigned int gpu, memory;
};
struct PciInfo {  // nvmlPciInfo_t, _v3
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct ProcessInfo {  // nvmlProcessInfo_t, _v2 and _v3
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
inline constexpr unsigned long long kNotAvailable = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE
inline constexpr unsigned kMigEnabled = 1;                  // NVML_DEVICE_MIG_ENABLE
inline constexpr int kTemperatureGpu = 0;                   // nvmlTemperatureSensors_t
inline constexpr int kClockSm = 1;                          // nvmlClockType_t
inline constexpr int kUncorrectedErrors = 1;                // nvmlMemoryErrorType_t
inline constexpr int kSinceDriverLoad = 0;                  // nvmlEccCounterType_t: volatile
inline constexpr unsigned kUuidBytes = 96;                  // NVML_DEVICE_UUID_V2_BUFFER_SIZE
inline constexpr unsigned kNameBytes = 96;                  // NVML_DEVICE_NAME_V2_BUFFER_SIZE
inline constexpr unsigned kVersionBytes = 80;               // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE

std::string name_of(Result result);  // "GPU_IS_LOST", or the number

}  // namespace nvml

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  // A device that can be leased: a GPU, or each MIG device of a divided GPU.
  struct Device {
    nvml::Device handle;
    nvml::Device gpu;  // the device itself, or the GPU of which it is a part
    std::string uuid;  // "GPU-..." or "MIG-..."
  };

  // Loads and initialises the library; it is never unloaded.
  Nvml();

  // "", "library_missing:libnvidia-ml.so.1", "symbol_missing:NAME", or "FUNCTION: CODE".
  const std::string& problem() const { return problem_; }
  const std::vector<Device>& devices() const { return devices_; }
  // The numbers of GPUs in MIG mode without an instance, and of lost GPUs. They are not in devices().
  int without_instance() const { return without_instance_; }
  int lost() const { return lost_; }

  // The error, or "".
  template <typename... Arguments>
  std::string call(const char* function, Arguments... arguments) const {
    using Function = nvml::Result (*)(Arguments...);
    const auto found = reinterpret_cast<Function>(symbol(function));
    if (found == nullptr) return std::string("symbol_missing:") + function;
    const nvml::Result result = found(arguments...);
    return result == nvml::kSuccess ? "" : std::string(function) + ": " + nvml::name_of(result);
  }
  // The same, but returns the code; none if the function does not exist.
  void* symbol(const char* function) const {
    return library_ == nullptr ? nullptr : dlsym(library_, function);
  }

 private:
  void list();
  bool list_parts(nvml::Device gpu);
  void add(nvml::Device handle, nvml::Device gpu);

  void* library_ = nullptr;
  std::string problem_;
  std::vector<Device> devices_;
  int without_instance_ = 0;
  int lost_ = 0;
};

}  // namespace proctor::probe
