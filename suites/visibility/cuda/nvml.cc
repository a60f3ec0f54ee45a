#include "suites/visibility/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace proctor::visibility {
namespace {

using nlohmann::json;
using Device = void*;  // nvmlDevice_t

struct Memory {  // nvmlMemory_t
  unsigned long long total, free, used;
};
struct PciInfo {  // nvmlPciInfo_t
  char legacy_bus_id[16];
  unsigned int domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
constexpr int kFunctionNotFound = 13;    // NVML_ERROR_FUNCTION_NOT_FOUND
constexpr unsigned int kUuidBytes = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE

}  // namespace

template <typename... Arguments>
int Nvml::result_of(const char* function, Arguments... arguments) const {
  using Function = int (*)(Arguments...);
  const auto found = reinterpret_cast<Function>(dlsym(library_, function));
  return found != nullptr ? found(arguments...) : kFunctionNotFound;
}

template <typename... Arguments>
bool Nvml::call(const char* function, Arguments... arguments) const {
  return result_of(function, arguments...) == 0;
}

std::optional<Nvml> Nvml::load(std::string& why) {
  void* const library = dlopen(kNvml, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why = std::string("library_missing:") + kNvml;
    return std::nullopt;
  }
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const int result = init == nullptr ? -1 : init();
  if (result == 0) return Nvml(library);
  why = init == nullptr ? "symbol_missing:nvmlInit_v2" : fmt::format("unsupported:nvml ({})", result);
  return std::nullopt;
}

// `visit(device, uuid)`
template <typename Visit>
void Nvml::each(const Visit& visit) const {
  unsigned int count = 0;
  if (!call("nvmlDeviceGetCount_v2", &count)) return;
  for (unsigned int i = 0; i < count; ++i) {
    Device device = nullptr;
    char uuid[kUuidBytes] = {};
    if (!call("nvmlDeviceGetHandleByIndex_v2", i, &device)) continue;
    if (call("nvmlDeviceGetUUID", device, &uuid[0], kUuidBytes)) visit(device, std::string(uuid));
  }
}

json Nvml::devices() const {
  json all = json::array();
  each([&](Device device, const std::string& uuid) {
    PciInfo pci{};
    Memory memory{};
    call("nvmlDeviceGetPciInfo_v3", device, &pci);
    const bool told_memory = call("nvmlDeviceGetMemoryInfo", device, &memory);
    unsigned int minor = 0;
    const bool told = call("nvmlDeviceGetMinorNumber", device, &minor);
    all.push_back({{"uuid", uuid},
                   {"pci", fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device)},
                   {"memory", told_memory ? json(memory.total) : json()},
                   {"minor", told ? static_cast<int>(minor) : -1}});
  });
  return all;
}

json Nvml::device_named(const std::string& name) const {
  Device device = nullptr;
  char uuid[kUuidBytes] = {};
  const int result = result_of("nvmlDeviceGetHandleByUUID", name.c_str(), &device);
  if (result == 0) call("nvmlDeviceGetUUID", device, &uuid[0], kUuidBytes);
  return {{"result", result}, {"uuid", uuid}};
}

json Nvml::used() const {
  json all = json::object();
  each([&](Device device, const std::string& uuid) {
    Memory memory{};
    if (call("nvmlDeviceGetMemoryInfo", device, &memory)) all[uuid] = memory.used;
  });
  return all;
}

}  // namespace proctor::visibility
