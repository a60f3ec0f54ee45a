// Loads NVML at run time. NVML creates no CUDA context, ignores CUDA_VISIBLE_DEVICES and lists devices in PCI
// order.
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

#include "suites/accel/nvml_types.h"

namespace proctor::nvml {

std::string name_of(Result result);  // "GPU_IS_LOST", or the number of an unknown code

}  // namespace proctor::nvml

namespace proctor::probe {

// The loaded NVML library and its devices.
class Nvml {
 public:
  // A device that can be leased: a GPU, or each MIG device of a GPU in MIG mode.
  struct Device {
    nvml::Device handle;
    nvml::Device gpu;  // the device itself, or the GPU of a MIG device
    std::string uuid;  // "GPU-..." or "MIG-..."
  };

  // Loads and initialises NVML. The library is never unloaded.
  Nvml();

  // Returns "", "library_missing:libnvidia-ml.so.1", "symbol_missing:NAME", or "FUNCTION: CODE".
  const std::string& problem() const { return problem_; }
  const std::vector<Device>& devices() const { return devices_; }
  // The number of GPUs in MIG mode without an instance, and the number of lost GPUs. They are not in
  // devices().
  int without_instance() const { return without_instance_; }
  int lost() const { return lost_; }

  // Calls a function by its name. Returns the error, or "".
  template <typename... Arguments>
  std::string call(const char* function, Arguments... arguments) const {
    using Function = nvml::Result (*)(Arguments...);
    const auto found = reinterpret_cast<Function>(symbol(function));
    if (found == nullptr) return std::string("symbol_missing:") + function;
    const nvml::Result result = found(arguments...);
    return result == nvml::kSuccess ? "" : std::string(function) + ": " + nvml::name_of(result);
  }
  // Returns the address of a function, or null if it does not exist.
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
