#include "suites/probe/nvml.h"

namespace proctor {
namespace nvml {

std::string name_of(Result result) {
  switch (result) {
    case kUninitialized:
      return "UNINITIALIZED";
    case kNotSupported:
      return "NOT_SUPPORTED";
    case kNoPermission:
      return "NO_PERMISSION";
    case 9:
      return "DRIVER_NOT_LOADED";
    case kGpuIsLost:
      return "GPU_IS_LOST";
    case 18:
      return "LIB_RM_VERSION_MISMATCH";
    default:
      return std::to_string(result);
  }
}

}  // namespace nvml

namespace probe {

Nvml::Nvml() : library_(dlopen(nvml::kLibrary, RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    problem_ = std::string("library_missing:") + nvml::kLibrary;
    return;
  }
  problem_ = call("nvmlInit_v2");
  if (problem_.empty()) list();
}

void Nvml::list() {
  unsigned count = 0;
  problem_ = call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; problem_.empty() && i < count; ++i) {
    nvml::Device gpu = nullptr;
    const std::string why = call("nvmlDeviceGetHandleByIndex_v2", i, &gpu);
    if (!why.empty()) {  // a lost GPU, or one that this user may not open
      if (why.ends_with(": " + nvml::name_of(nvml::kGpuIsLost))) ++lost_;
      continue;
    }
    if (!list_parts(gpu)) add(gpu, gpu);
  }
}

// Adds the MIG devices of a GPU. Returns false if the GPU is not in MIG mode, so that it is a device itself.
bool Nvml::list_parts(nvml::Device gpu) {
  unsigned current = 0;
  unsigned pending = 0;
  if (!call("nvmlDeviceGetMigMode", gpu, &current, &pending).empty() || current != nvml::kMigEnabled)
    return false;
  unsigned most = 0;
  if (!call("nvmlDeviceGetMaxMigDeviceCount", gpu, &most).empty()) return true;
  const std::size_t before = devices_.size();
  for (unsigned i = 0; i < most; ++i) {
    nvml::Device part = nullptr;
    if (call("nvmlDeviceGetMigDeviceHandleByIndex", gpu, i, &part).empty()) add(part, gpu);
  }
  if (devices_.size() == before) ++without_instance_;
  return true;
}

void Nvml::add(nvml::Device handle, nvml::Device gpu) {
  char uuid[nvml::kUuidBytes] = {};
  if (!call("nvmlDeviceGetUUID", handle, &uuid[0], nvml::kUuidBytes).empty()) return;
  uuid[nvml::kUuidBytes - 1] = '\0';
  devices_.push_back({handle, gpu, uuid});
}

}  // namespace probe
}  // namespace proctor
