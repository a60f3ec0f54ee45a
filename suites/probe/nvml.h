// NVML, found at run time. It makes no CUDA context, ignores CUDA_VISIBLE_DEVICES and lists devices in PCI order.
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

#include "suites/accel/nvml_types.h"

namespace proctor::nvml {

std::string name_of(Result result);  // "GPU_IS_LOST", or the number

}  // namespace proctor::nvml

namespace proctor::probe {

class Nvml {
 public:
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
