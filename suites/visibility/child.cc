#include "suites/visibility/child.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <set>

#include "harness/base/words.h"
#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/sysman.h"
#include "suites/visibility/enumerate_level_zero.h"
#include "suites/visibility/properties_level_zero.h"

namespace proctor::visibility {
namespace {

// Modes that enumerate the devices of Sysman. Sysman needs no zeInit, and the device mask does not affect it.

using nlohmann::json;
using xpu::LevelZero;
using xpu::Place;

// Functions of Sysman. They are declared here because the headers of the build may be older.
struct Sysman {
  ze_result_t (*init)(std::uint32_t flags) = nullptr;
  ze_result_t (*driver_get)(std::uint32_t*, zes_driver_handle_t*) = nullptr;
  ze_result_t (*device_get)(zes_driver_handle_t, std::uint32_t*, zes_device_handle_t*) = nullptr;
  decltype(&::zesDeviceGetProperties) properties = nullptr;
  decltype(&::zesDevicePciGetProperties) pci_properties = nullptr;
  decltype(&::zesDeviceEnumMemoryModules) memory_modules = nullptr;
  decltype(&::zesMemoryGetProperties) memory_properties = nullptr;
  ze_result_t (*by_uuid)(zes_driver_handle_t, ze_device_uuid_t, zes_device_handle_t*, ze_bool_t*,
                         std::uint32_t*) = nullptr;  // This function may be missing.
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

// Finds the functions of Sysman. A loader that is older than this interface does not export it. The loaded driver
// can have it nevertheless.
bool find_sysman(const LevelZero& ze, Sysman& sysman) {
  if (!ze.lacks("zesInit"))
    return find_all([&](const Place& place) { return dlsym(ze.library, place.name); }, sysman);
  if (ze.init(0) != ZE_RESULT_SUCCESS) return false;
  void* const driver = xpu::sysman_driver();
  return driver != nullptr &&
         find_all([&](const Place& place) { return xpu::function_of_driver(driver, place); }, sysman);
}

// All handles of a list; none if a call fails.
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
  std::set<std::uint32_t> with_memory;  // The tiles that have memory modules; 0 for the card itself.
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

// The result of mode `sysman`: {"result":CODE, "devices":[{"uuid","pci","tiles","tiles_with_memory"}],
// "names":{UUID: {"result","device","tile"}}}. "result" is the code of zesInit. "devices" has the number of tiles
// of each device, and the number of its tiles with memory modules. "names" has the device of each UUID of `uuids`:
// its index in "devices", or -1, and the number of its tile, or -1 for the whole device. "names" is missing if the
// driver lacks this function. All members except "devices" are missing if neither the loader nor the driver has
// the interface.
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

using nlohmann::json;
using xpu::LevelZero;
using Arguments = std::vector<std::string>;

json counts(const LevelZero& ze) {
  json document = {{"seen", to_json(enumerate_level_zero(ze))}};
  for (const auto driver : xpu::list_drivers(ze).handles) {
    const auto all = xpu::list_devices(ze, driver).handles;
    if (all.empty()) continue;
    ze_device_handle_t first = nullptr;
    std::uint32_t count = 1;
    const auto under = ze.device_get(driver, &count, &first);
    document["under"] = {
        {"result", xpu::result_name(under)}, {"count", count}, {"same_first", first == all[0]}};
    std::vector<ze_device_handle_t> more(all.size() + 4);
    count = static_cast<std::uint32_t>(more.size());
    const auto over = ze.device_get(driver, &count, more.data());
    document["over"] = {{"result", xpu::result_name(over)}, {"count", count}, {"devices", all.size()}};
    break;
  }
  return document;
}

json null_count(const LevelZero& ze) {
  const Enumeration seen = enumerate_level_zero(ze);
  const auto drivers = xpu::list_drivers(ze).handles;
  const bool validated = !xpu::mapped_library("libze_validation_layer").empty();
  json document = {{"seen", to_json(seen)}, {"validation_layer", validated}};
  // Without the validation layer, the call may do anything.
  if (drivers.empty() || !validated) return document;
  document["result"] = xpu::result_name(ze.device_get(drivers[0], nullptr, nullptr));
  return document;
}

json peers(const LevelZero& ze) {
  json document = {{"seen", to_json(enumerate_level_zero(ze))}, {"peers", json::array()}};
  const auto devices = all_devices(ze);
  for (const auto from : devices) {
    json row = json::array();
    for (const auto to : devices) {
      ze_bool_t reachable = 0;
      const auto result = ze.device_can_access_peer(from, to, &reachable);
      row.push_back({{"result", xpu::result_name(result)}, {"reachable", reachable != 0}});
    }
    document["peers"].push_back(std::move(row));
  }
  return document;
}

json tiles(const LevelZero& ze) {
  json document = {{"seen", to_json(enumerate_level_zero(ze))}};
  document["tiles"] = to_json(enumerate_tiles(ze));
  return document;
}

json twice(const LevelZero& ze) {
  const auto first = enumerate_level_zero(ze);
  const auto handles = all_devices(ze);
  const bool same_handles = handles == all_devices(ze);
  return {
      {"seen", to_json(first)}, {"again", to_json(enumerate_level_zero(ze))}, {"same_handles", same_handles}};
}

json hold(const LevelZero& ze) { return {{"seen", to_json(enumerate_level_zero(ze))}}; }

json properties(const LevelZero& ze) {
  ze.init(ZE_INIT_FLAG_GPU_ONLY);
  json document = {{"answers", json::array()}};
  for (const auto before : {std::uint8_t{0x55}, std::uint8_t{0xaa}})
    document["answers"].push_back(ask_properties(ze, before));
  return document;
}

json lists(const LevelZero& ze) {
  ze.init(ZE_INIT_FLAG_GPU_ONLY);
  return {{"lists", list_in_every_way(ze)}};
}

json tables(const LevelZero& ze) {
  ze.init(ZE_INIT_FLAG_GPU_ONLY);
  return {{"tables", ask_tables(ze)}};
}

json init_with(const LevelZero& ze, const std::string& flags) {
  const auto result = ze.init(static_cast<ze_init_flags_t>(std::stoul(flags)));
  json document = {{"result", xpu::result_name(result)}, {"gpus", 0}};
  if (result != ZE_RESULT_SUCCESS) return document;
  int gpus = 0;
  for (const auto device : all_devices(ze)) {
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ze.device_get_properties(device, &properties);
    gpus += properties.type == ZE_DEVICE_TYPE_GPU ? 1 : 0;
  }
  document["gpus"] = gpus;
  document["seen"] = to_json(enumerate_level_zero(ze));
  return document;
}

void set_variable(const Arguments& arguments) { setenv(arguments.at(1).c_str(), arguments.at(2).c_str(), 1); }

json answer(const LevelZero& ze, const Arguments& arguments) {
  const std::string& mode = arguments[0];
  if (mode == "enumerate" || mode == "hold") return hold(ze);
  if (mode == "enumerate-after-setenv") {
    set_variable(arguments);
    return hold(ze);
  }
  if (mode == "setenv-after-init") {
    const auto first = enumerate_level_zero(ze);
    set_variable(arguments);
    return {{"seen", to_json(first)}, {"again", to_json(enumerate_level_zero(ze))}};
  }
  if (mode == "twice") return twice(ze);
  if (mode == "counts") return counts(ze);
  if (mode == "null-count") return null_count(ze);
  if (mode == "peers") return peers(ze);
  if (mode == "tiles") return tiles(ze);
  if (mode == "properties") return properties(ze);
  if (mode == "lists") return lists(ze);
  if (mode == "tables") return tables(ze);
  if (mode == "init") return init_with(ze, arguments.at(1));
  const auto uuids = split(arguments.at(1), ',');
  return enumerate_sysman(ze, {uuids.begin(), uuids.end()});
}

constexpr Mode kModes[] = {{"enumerate"},
                           {"enumerate-after-setenv", 2},
                           {"setenv-after-init", 2},
                           {"twice"},
                           {"counts"},
                           {"null-count"},
                           {"peers"},
                           {"tiles"},
                           {"properties"},
                           {"lists"},
                           {"tables"},
                           {"init", 1},
                           {"sysman", 1},
                           {"grandchild"},
                           {"hold"}};

}  // namespace

std::span<const Mode> modes() { return kModes; }

json answer_of(const Arguments& arguments) {
  std::string why;
  const auto ze = xpu::load_level_zero(why);
  if (!ze) return {{"problem", std::string("library_missing:") + xpu::kLoaderName}, {"detail", why}};
  json document = answer(*ze, arguments);
  document["missing_symbols"] = ze->missing_symbols;
  document["loader"] = xpu::loader_version(*ze);
  return document;
}

}  // namespace proctor::visibility
