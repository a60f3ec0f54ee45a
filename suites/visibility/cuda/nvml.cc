#include "suites/visibility/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace proctor::visibility {
namespace {

using nlohmann::json;

}  // namespace

template <typename... Arguments>
int Nvml::result_of(const char* function, Arguments... arguments) const {
  using Function = int (*)(Arguments...);
  const auto found = reinterpret_cast<Function>(dlsym(library_, function));
  return found != nullptr ? found(arguments...) : nvml::kFunctionNotFound;
}

template <typename... Arguments>
bool Nvml::call(const char* function, Arguments... arguments) const {
  return result_of(function, arguments...) == 0;
}

std::optional<Nvml> Nvml::load(std::string& why) {
  void* const library = dlopen(nvml::kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why = std::string("library_missing:") + nvml::kLibrary;
    return std::nullopt;
  }
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const int result = init == nullptr ? -1 : init();
  if (result == 0) return Nvml(library);
  why = init == nullptr ? "symbol_missing:nvmlInit_v2" : fmt::format("unsupported:nvml ({})", result);
  return std::nullopt;
}

// Calls `visit(device, uuid)` for each device.
template <typename Visit>
void Nvml::each(const Visit& visit) const {
  unsigned int count = 0;
  if (!call("nvmlDeviceGetCount_v2", &count)) return;
  for (unsigned int i = 0; i < count; ++i) {
    nvml::Device device = nullptr;
    char uuid[nvml::kUuidBytes] = {};
    if (!call("nvmlDeviceGetHandleByIndex_v2", i, &device)) continue;
    if (call("nvmlDeviceGetUUID", device, &uuid[0], nvml::kUuidBytes)) visit(device, std::string(uuid));
  }
}

json Nvml::devices() const {
  json all = json::array();
  each([&](nvml::Device device, const std::string& uuid) {
    nvml::PciInfo pci{};
    nvml::Memory memory{};
    call("nvmlDeviceGetPciInfo_v3", device, &pci);
    const bool reported_memory = call("nvmlDeviceGetMemoryInfo", device, &memory);
    unsigned int minor = 0;
    const bool reported = call("nvmlDeviceGetMinorNumber", device, &minor);
    all.push_back({{"uuid", uuid},
                   {"pci", fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device)},
                   {"memory", reported_memory ? json(memory.total) : json()},
                   {"minor", reported ? static_cast<int>(minor) : -1}});
  });
  return all;
}

json Nvml::device_named(const std::string& name) const {
  nvml::Device device = nullptr;
  char uuid[nvml::kUuidBytes] = {};
  const int result = result_of("nvmlDeviceGetHandleByUUID", name.c_str(), &device);
  if (result == 0) call("nvmlDeviceGetUUID", device, &uuid[0], nvml::kUuidBytes);
  return {{"result", result}, {"uuid", uuid}};
}

json Nvml::used() const {
  json all = json::object();
  each([&](nvml::Device device, const std::string& uuid) {
    nvml::Memory memory{};
    if (call("nvmlDeviceGetMemoryInfo", device, &memory)) all[uuid] = memory.used;
  });
  return all;
}

}  // namespace proctor::visibility
