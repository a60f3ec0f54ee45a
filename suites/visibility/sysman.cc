#include "suites/visibility/sysman.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "suites/accel/xpu/driver_table.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;
using xpu::LevelZero;
using xpu::Place;

// Its functions, declared here where the headers of the build may be older.
struct Sysman {
  ze_result_t (*init)(std::uint32_t flags) = nullptr;
  ze_result_t (*driver_get)(std::uint32_t*, zes_driver_handle_t*) = nullptr;
  ze_result_t (*device_get)(zes_driver_handle_t, std::uint32_t*, zes_device_handle_t*) = nullptr;
  decltype(&::zesDeviceGetProperties) properties = nullptr;
  decltype(&::zesDevicePciGetProperties) pci_properties = nullptr;
  decltype(&::zesDeviceEnumMemoryModules) memory_modules = nullptr;
  decltype(&::zesMemoryGetProperties) memory_properties = nullptr;
  ze_result_t (*by_uuid)(zes_driver_handle_t, ze_device_uuid_t, zes_device_handle_t*, ze_bool_t*,
                         std::uint32_t*) = nullptr;  // may be missing
};

using Find = std::function<void*(const Place&)>;

bool find_all(const Find& find, Sysman& sysman) {
  const auto set = [&](auto& function, const Place& place) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(place));
    return function != nullptr;
  };
  set(sysman.by_uuid, xpu::kZesDriverGetDeviceByUuid);
  return set(sysman.init, xpu::kZesInit) && set(sysman.driver_get, xpu::kZesDriverGet) &&
         set(sysman.device_get, xpu::kZesDeviceGet) && set(sysman.properties, xpu::kZesDeviceGetProperties) &&
         set(sysman.pci_properties, {"zesDevicePciGetProperties", "zesGetDeviceProcAddrTable", 4}) &&
         set(sysman.memory_modules, {"zesDeviceEnumMemoryModules", "zesGetDeviceProcAddrTable", 16}) &&
         set(sysman.memory_properties, {"zesMemoryGetProperties", "zesGetMemoryProcAddrTable", 0});
}

// A loader that is older than the interface does not hand it out; the driver that it has loaded may have it all the same.
bool find_sysman(const LevelZero& ze, Sysman& sysman) {
  if (!ze.lacks("zesInit"))
    return find_all([&](const Place& place) { return dlsym(ze.library, place.name); }, sysman);
  if (ze.init(0) != ZE_RESULT_SUCCESS) return false;
  void* const driver = xpu::sysman_driver();
  return driver != nullptr &&
         find_all([&](const Place& place) { return xpu::function_of_driver(driver, place); }, sysman);
}

// All handles of a list; none where a call fails.
template <typename Handle, typename List>
std::vector<Handle> listed(const List& list) {
  std::uint32_t count = 0;
  if (list(&count, nullptr) != ZE_RESULT_SUCCESS) return {};
  std::vector<Handle> handles(count);
  if (count == 0 || list(&count, handles.data()) != ZE_RESULT_SUCCESS) return {};
  return handles;
}

json describe(const Sysman& sysman, zes_device_handle_t device) {
  zes_device_properties_t properties{};
  properties.stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  sysman.properties(device, &properties);
  zes_pci_properties_t pci{};
  pci.stype = ZES_STRUCTURE_TYPE_PCI_PROPERTIES;
  const bool placed = sysman.pci_properties(device, &pci) == ZE_RESULT_SUCCESS;
  const auto& at = pci.address;
  std::set<std::uint32_t> with_memory;  // tiles, or 0
  for (const auto module : listed<zes_mem_handle_t>([&](std::uint32_t*count, zes_mem_handle_t*out) {
         return sysman.memory_modules(device, count, out);
       })) {
    zes_mem_properties_t memory{};
    memory.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    if (sysman.memory_properties(module, &memory) == ZE_RESULT_SUCCESS)
      with_memory.insert(memory.subdeviceId);
  }
  return {{"uuid", xpu::uuid_text(properties.core.uuid)},
          {"pci",
           placed ? fmt::format("{:04x}:{:02x}:{:02x}.{:x}", at.domain, at.bus, at.device, at.function) : ""},
          {"tiles", properties.numSubdevices},
          {"tiles_with_memory", with_memory.size()}};
}

ze_device_uuid_t parse_uuid(const std::string& text) {
  ze_device_uuid_t uuid{};
  for (std::size_t i = 0; i < sizeof uuid.id && 2 * i + 1 < text.size(); ++i)
    uuid.id[i] = static_cast<std::uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  return uuid;
}

}  // namespace

json enumerate_sysman(const LevelZero& ze, const std::vector<std::string>& uuids) {
  json document = {{"devices", json::array()}};
  Sysman sysman;
  if (!find_sysman(ze, sysman)) return document;
  const auto init = sysman.init(0);
  document["result"] = xpu::result_name(init);
  if (init != ZE_RESULT_SUCCESS) return document;
  std::vector<zes_device_handle_t> all;
  const auto drivers = listed<zes_driver_handle_t>(sysman.driver_get);
  for (const auto driver : drivers) {
    const auto devices = listed<zes_device_handle_t>([&](std::uint32_t* count, zes_device_handle_t* out) {
      return sysman.device_get(driver, count, out);
    });
    for (const auto device : devices) document["devices"].push_back(describe(sysman, device));
    all.insert(all.end(), devices.begin(), devices.end());
  }
  if (sysman.by_uuid == nullptr || drivers.size() != 1) return document;
  document["names"] = json::object();
  for (const std::string& uuid : uuids) {
    if (uuid.empty()) continue;
    zes_device_handle_t device = nullptr;
    ze_bool_t on_tile = 7;
    std::uint32_t tile = 77;
    const auto result = sysman.by_uuid(drivers[0], parse_uuid(uuid), &device, &on_tile, &tile);
    const bool known = result == ZE_RESULT_SUCCESS;
    const auto found = std::ranges::find(all, device);
    document["names"][uuid] = {{"result", xpu::result_name(result)},
                               {"device", found == all.end() ? -1 : static_cast<int>(found - all.begin())},
                               {"tile", !known || on_tile == 0 ? -1 : static_cast<int>(tile)}};
    if (known && on_tile > 1) document["names"][uuid]["tile"] = "neither true nor false";
  }
  return document;
}

}  // namespace proctor::visibility
