#include "suites/visibility/properties_level_zero.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

namespace proctor::visibility {
namespace {

using nlohmann::json;
using xpu::LevelZero;

// A function of the loader, with its own name and type.
#define PROCTOR_ZE(name) reinterpret_cast<decltype(&::name)>(dlsym(ze.library, #name))

// The text up to its end. Other bytes become '?', because bytes that were never written are not valid UTF-8.
template <std::size_t kSize>
std::string text(const char (&name)[kSize]) {
  std::string read(name, strnlen(name, kSize));
  std::ranges::replace_if(
      read, [](char c) { return c < ' ' || c > '~'; }, '?');
  return read;
}

template <std::size_t kSize>
std::string hex(const std::uint8_t (&bytes)[kSize]) {
  static_assert(kSize == sizeof(ze_device_uuid_t));
  ze_device_uuid_t all{};
  std::copy(std::begin(bytes), std::end(bytes), all.id);
  return xpu::uuid_text(all);
}

template <typename Structure>
Structure filled(ze_structure_type_t type, unsigned char before) {
  Structure answer;
  std::memset(&answer, before, sizeof answer);
  answer.stype = type;
  answer.pNext = nullptr;
  return answer;
}

template <typename Structure, typename Get, typename Read>
json ask(ze_structure_type_t type, unsigned char before, const Get& get, const Read& read) {
  auto answer = filled<Structure>(type, before);
  const ze_result_t result = get(&answer);
  if (result != ZE_RESULT_SUCCESS) return {{"result", xpu::result_name(result)}};
  json fields = read(answer);
  fields["head"] = answer.stype == type && answer.pNext == nullptr;
  return fields;
}

// ---- drivers ----

std::vector<ze_driver_extension_properties_t> extensions_of(const LevelZero& ze, ze_driver_handle_t driver,
                                                            unsigned char before) {
  std::uint32_t count = 0;
  PROCTOR_ZE(zeDriverGetExtensionProperties)(driver, &count, nullptr);
  std::vector<ze_driver_extension_properties_t> extensions(count);
  for (auto& extension : extensions) std::memset(&extension, before, sizeof extension);
  PROCTOR_ZE(zeDriverGetExtensionProperties)(driver, &count, extensions.data());
  return extensions;
}

bool has_extension(const LevelZero& ze, ze_driver_handle_t driver, std::string_view name) {
  return std::ranges::any_of(extensions_of(ze, driver, 0),
                             [&](const auto& extension) { return extension.name == name; });
}

json ask_driver(const LevelZero& ze, ze_driver_handle_t driver, unsigned char before) {
  json answers;
  ze_api_version_t api{};
  std::memset(&api, before, sizeof api);
  ze.driver_get_api_version(driver, &api);
  answers["api"] = static_cast<std::uint32_t>(api);
  answers["properties"] = ask<ze_driver_properties_t>(
      ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, before,
      [&](auto* out) { return ze.driver_get_properties(driver, out); },
      [](const auto& a) {
        return json{{"uuid", hex(a.uuid.id)}, {"driverVersion", a.driverVersion}};
      });
  answers["ipc"] = ask<ze_driver_ipc_properties_t>(
      ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES, before,
      [&](auto* out) { return PROCTOR_ZE(zeDriverGetIpcProperties)(driver, out); },
      [](const auto& a) {
        return json{{"flags", a.flags}};
      });

  void* const unchanged = &answers;
  void* address = unchanged;
  const auto unknown =
      PROCTOR_ZE(zeDriverGetExtensionFunctionAddress)(driver, "zexProctorNoSuchFunction", &address);
  answers["unknown_function"] = unknown == ZE_RESULT_SUCCESS && address != nullptr && address != unchanged;
  address = nullptr;
  PROCTOR_ZE(zeDriverGetExtensionFunctionAddress)(driver, "zexCounterBasedEventCreate2", &address);
  answers["counter_based_function"] = address != nullptr;
  auto free =
      filled<ze_driver_memory_free_ext_properties_t>(ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES, 0);
  ze_driver_properties_t owner{};
  owner.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  owner.pNext = &free;
  ze.driver_get_properties(driver, &owner);
  answers["free_policies"] = free.freePolicies;
  answers["extensions"] = json::array();
  for (const auto& extension : extensions_of(ze, driver, before)) {
    const bool ends = strnlen(extension.name, sizeof extension.name) < sizeof extension.name;
    answers["extensions"].push_back(
        {{"name", text(extension.name)}, {"ends", ends}, {"version", extension.version}});
  }
  return answers;
}

// ---- devices ----

json device_fields(const ze_device_properties_t& a) {
  return {{"type", a.type},
          {"vendorId", a.vendorId},
          {"deviceId", a.deviceId},
          {"flags", a.flags},
          {"subdeviceId", (a.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0 ? a.subdeviceId : 0},
          {"coreClockRate", a.coreClockRate},
          {"maxMemAllocSize", a.maxMemAllocSize},
          {"maxHardwareContexts", a.maxHardwareContexts},
          {"maxCommandQueuePriority", a.maxCommandQueuePriority},
          {"numThreadsPerEU", a.numThreadsPerEU},
          {"physicalEUSimdWidth", a.physicalEUSimdWidth},
          {"numEUsPerSubslice", a.numEUsPerSubslice},
          {"numSubslicesPerSlice", a.numSubslicesPerSlice},
          {"numSlices", a.numSlices},
          {"timerResolution", a.timerResolution},
          {"timestampValidBits", a.timestampValidBits},
          {"kernelTimestampValidBits", a.kernelTimestampValidBits},
          {"uuid", hex(a.uuid.id)},
          {"name", text(a.name)}};
}

json compute_fields(const ze_device_compute_properties_t& a) {
  const auto sizes = std::min<std::size_t>(a.numSubGroupSizes, std::size(a.subGroupSizes));
  return {{"maxTotalGroupSize", a.maxTotalGroupSize},
          {"maxGroupSize", {a.maxGroupSizeX, a.maxGroupSizeY, a.maxGroupSizeZ}},
          {"maxGroupCount", {a.maxGroupCountX, a.maxGroupCountY, a.maxGroupCountZ}},
          {"maxSharedLocalMemory", a.maxSharedLocalMemory},
          {"numSubGroupSizes", a.numSubGroupSizes},
          {"subGroupSizes", std::vector<std::uint32_t>(a.subGroupSizes, a.subGroupSizes + sizes)}};
}

json module_fields(const ze_device_module_properties_t& a) {
  return {{"spirvVersionSupported", a.spirvVersionSupported},
          {"flags", a.flags},
          {"fp16flags", a.fp16flags},
          {"fp32flags", a.fp32flags},
          {"fp64flags", a.fp64flags},
          {"maxArgumentsSize", a.maxArgumentsSize},
          {"printfBufferSize", a.printfBufferSize},
          {"nativeKernelSupported", hex(a.nativeKernelSupported.id)}};
}

json access_fields(const ze_device_memory_access_properties_t& a) {
  return {{"host", a.hostAllocCapabilities},
          {"device", a.deviceAllocCapabilities},
          {"shared", a.sharedSingleDeviceAllocCapabilities},
          {"sharedCross", a.sharedCrossDeviceAllocCapabilities},
          {"sharedSystem", a.sharedSystemAllocCapabilities}};
}

json image_fields(const ze_device_image_properties_t& a) {
  return {{"dims", {a.maxImageDims1D, a.maxImageDims2D, a.maxImageDims3D}},
          {"buffer", a.maxImageBufferSize},
          {"slices", a.maxImageArraySlices},
          {"samplers", a.maxSamplers},
          {"arguments", {a.maxReadImageArgs, a.maxWriteImageArgs}}};
}

json external_fields(const ze_device_external_memory_properties_t& a) {
  return {{"import", a.memoryAllocationImportTypes},
          {"export", a.memoryAllocationExportTypes},
          {"imageImport", a.imageImportTypes},
          {"imageExport", a.imageExportTypes}};
}

// The PCI properties of a device; null if the loader is too old for the function.
json ask_pci(const LevelZero& ze, ze_device_handle_t device, unsigned char before) {
  if (ze.device_pci_get_properties == nullptr) return nullptr;
  return ask<ze_pci_ext_properties_t>(
      ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES, before,
      [&](auto* out) { return ze.device_pci_get_properties(device, out); },
      [](const auto& a) {
        return json{{"address", {a.address.domain, a.address.bus, a.address.device, a.address.function}},
                    {"generation", a.maxSpeed.genVersion},
                    {"width", a.maxSpeed.width},
                    {"bandwidth", a.maxSpeed.maxBandwidth}};
      });
}

// The members of an extension's structure, chained to that of the module; null if the driver does not list the
// extension. Each call chains one structure, because Intel's driver of 2022 loops forever in a chain of two.
template <typename Structure, typename Read>
json ask_extension(const LevelZero& ze, ze_driver_handle_t driver, ze_device_handle_t device,
                   const char* name, ze_structure_type_t type, unsigned char before, const Read& read) {
  if (!has_extension(ze, driver, name)) return nullptr;
  return ask<Structure>(
      type, before,
      [&](auto* out) {
        auto module =
            filled<ze_device_module_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, before);
        module.pNext = out;
        return PROCTOR_ZE(zeDeviceGetModuleProperties)(device, &module);
      },
      read);
}

template <typename Structure, typename Get, typename Read>
json ask_list(ze_structure_type_t type, unsigned char before, const Get& get, const Read& read) {
  std::uint32_t count = 0;
  get(&count, static_cast<Structure*>(nullptr));
  std::vector<Structure> all(count, filled<Structure>(type, before));
  get(&count, all.data());
  json listed = json::array();
  for (const auto& one : all) {
    listed.push_back(read(one));
    listed.back()["head"] = one.stype == type && one.pNext == nullptr;
  }
  return listed;
}

json ask_lists(const LevelZero& ze, ze_device_handle_t device, unsigned char before) {
  return {{"memories",
           ask_list<ze_device_memory_properties_t>(
               ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, before,
               [&](auto* count, auto* out) { return ze.device_get_memory_properties(device, count, out); },
               [](const auto& a) {
                 return json{{"flags", a.flags},
                             {"maxClockRate", a.maxClockRate},
                             {"maxBusWidth", a.maxBusWidth},
                             {"totalSize", a.totalSize},
                             {"name", text(a.name)}};
               })},
          {"caches", ask_list<ze_device_cache_properties_t>(
                         ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES, before,
                         [&](auto* count, auto* out) {
                           return PROCTOR_ZE(zeDeviceGetCacheProperties)(device, count, out);
                         },
                         [](const auto& a) {
                           return json{{"flags", a.flags}, {"cacheSize", a.cacheSize}};
                         })},
          {"groups", ask_list<ze_command_queue_group_properties_t>(
                         ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES, before,
                         [&](auto* count, auto* out) {
                           return PROCTOR_ZE(zeDeviceGetCommandQueueGroupProperties)(device, count, out);
                         },
                         [](const auto& a) {
                           return json{{"flags", a.flags},
                                       {"maxMemoryFillPatternSize", a.maxMemoryFillPatternSize},
                                       {"numQueues", a.numQueues}};
                         })}};
}

json ask_device(const LevelZero& ze, ze_driver_handle_t driver, ze_device_handle_t device,
                unsigned char before) {
  const auto get_properties = [&](auto* out) { return ze.device_get_properties(device, out); };
  json answers = ask_lists(ze, device, before);
  answers["properties"] =
      ask<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, before, get_properties, device_fields);
  answers["properties_1_2"] = ask<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2, before,
                                                          get_properties, device_fields);
  answers["compute"] = ask<ze_device_compute_properties_t>(
      ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES, before,
      [&](auto* out) { return PROCTOR_ZE(zeDeviceGetComputeProperties)(device, out); }, compute_fields);
  answers["module"] = ask<ze_device_module_properties_t>(
      ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, before,
      [&](auto* out) { return PROCTOR_ZE(zeDeviceGetModuleProperties)(device, out); }, module_fields);
  answers["atomics"] = ask_extension<ze_float_atomic_ext_properties_t>(
      ze, driver, device, "ZE_extension_float_atomics", ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES, before,
      [](const auto& a) {
        return json{{"fp16", a.fp16Flags}, {"fp32", a.fp32Flags}, {"fp64", a.fp64Flags}};
      });
  answers["scheduling"] = ask_extension<ze_scheduling_hint_exp_properties_t>(
      ze, driver, device, "ZE_experimental_scheduling_hints",
      ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES, before, [](const auto& a) {
        return json{{"hints", a.schedulingHintFlags}};
      });
  answers["access"] = ask<ze_device_memory_access_properties_t>(
      ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES, before,
      [&](auto* out) { return PROCTOR_ZE(zeDeviceGetMemoryAccessProperties)(device, out); }, access_fields);
  answers["image"] = ask<ze_device_image_properties_t>(
      ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES, before,
      [&](auto* out) { return PROCTOR_ZE(zeDeviceGetImageProperties)(device, out); }, image_fields);
  answers["external"] = ask<ze_device_external_memory_properties_t>(
      ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES, before,
      [&](auto* out) { return PROCTOR_ZE(zeDeviceGetExternalMemoryProperties)(device, out); },
      external_fields);
  answers["pci"] = ask_pci(ze, device, before);
  answers["status"] = xpu::result_name(PROCTOR_ZE(zeDeviceGetStatus)(device));
  return answers;
}

json ask_peers(const LevelZero& ze, const std::vector<ze_device_handle_t>& devices, unsigned char before) {
  json rows = json::array();
  for (const auto from : devices) {
    for (const auto to : devices) {
      ze_bool_t reaches = before;
      const auto result = ze.device_can_access_peer(from, to, &reaches);
      auto row = ask<ze_device_p2p_properties_t>(
          ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES, before,
          [&](auto* out) { return PROCTOR_ZE(zeDeviceGetP2PProperties)(from, to, out); },
          [](const auto& a) {
            return json{{"flags", a.flags}};
          });
      row["reaches"] = reaches;
      row["asked"] = xpu::result_name(result);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace

json ask_properties(const LevelZero& ze, unsigned char before) {
  json answers = {{"drivers", json::array()}, {"devices", json::array()}, {"peers", json::array()}};
  for (const auto driver : xpu::list_drivers(ze).handles) {
    answers["drivers"].push_back(ask_driver(ze, driver, before));
    const auto roots = xpu::list_devices(ze, driver).handles;
    for (const auto root : roots) {
      answers["devices"].push_back(ask_device(ze, driver, root, before));
      answers["devices"].back()["tiles"] = json::array();
      for (const auto tile : xpu::list_sub_devices(ze, root).handles)
        answers["devices"].back()["tiles"].push_back(ask_device(ze, driver, tile, before));
    }
    answers["peers"].push_back(ask_peers(ze, roots, before));
  }
  return answers;
}

// ---- lists ----

namespace {

template <typename Entry>
bool same(const Entry& a, const Entry& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Verifies one function that lists, with several buffer sizes. `blank` is the content of every entry before the
// call.
template <typename Entry, typename Get>
json list_one(const char* function, const Entry& blank, const Get& get) {
  json wrong = json::array();
  std::uint32_t available = 0;
  if (const auto result = get(&available, static_cast<Entry*>(nullptr)); result != ZE_RESULT_SUCCESS)
    wrong.push_back("a query of the count alone: " + xpu::result_name(result));
  std::vector<Entry> all(available, blank);
  for (const std::uint32_t room : {available, available + 3, available - 1, std::uint32_t{0}}) {
    if (room > available + 3 || (room == 0 && available <= 1 && room != available)) continue;
    std::vector<Entry> entries(room + 2, blank);
    std::uint32_t count = room;
    const auto result = get(&count, entries.data());
    const auto reported = room == 0 ? 0 : std::min(room, available);
    const std::string given =
        "with room for " + std::to_string(room) + " of " + std::to_string(available) + ": ";
    if (result != ZE_RESULT_SUCCESS) wrong.push_back(given + xpu::result_name(result));
    if (count != (room == 0 ? available : reported))
      wrong.push_back(given + "the count is " + std::to_string(count));
    if (room == available) std::copy_n(entries.begin(), available, all.begin());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i < reported && !same(entries[i], all[i]))
        wrong.push_back(given + "a different entry " + std::to_string(i));
      if (i < reported && same(entries[i], blank)) wrong.push_back(given + "no entry " + std::to_string(i));
      if (i >= reported && !same(entries[i], blank)) wrong.push_back(given + "an entry " + std::to_string(i));
    }
  }
  return {{"function", function}, {"count", available}, {"wrong", wrong}};
}

}  // namespace

json list_in_every_way(const LevelZero& ze) {
  constexpr unsigned char kBefore = 0x55;
  json lists = json::array();
  const auto no_handle = reinterpret_cast<ze_device_handle_t>(std::uintptr_t{0x5555});
  lists.push_back(list_one("zeDriverGet", reinterpret_cast<ze_driver_handle_t>(no_handle), ze.driver_get));
  for (const auto driver : xpu::list_drivers(ze).handles) {
    ze_driver_extension_properties_t extension;
    std::memset(&extension, kBefore, sizeof extension);
    lists.push_back(list_one("zeDriverGetExtensionProperties", extension, [&](auto* count, auto* out) {
      return PROCTOR_ZE(zeDriverGetExtensionProperties)(driver, count, out);
    }));
    lists.push_back(list_one("zeDeviceGet", no_handle,
                             [&](auto* count, auto* out) { return ze.device_get(driver, count, out); }));
    for (const auto device : xpu::list_devices(ze, driver).handles) {
      lists.push_back(list_one("zeDeviceGetSubDevices", no_handle, [&](auto* count, auto* out) {
        return ze.device_get_sub_devices(device, count, out);
      }));
      lists.push_back(list_one(
          "zeDeviceGetMemoryProperties",
          filled<ze_device_memory_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, kBefore),
          [&](auto* count, auto* out) { return ze.device_get_memory_properties(device, count, out); }));
      lists.push_back(
          list_one("zeDeviceGetCacheProperties",
                   filled<ze_device_cache_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES, kBefore),
                   [&](auto* count, auto* out) {
                     return PROCTOR_ZE(zeDeviceGetCacheProperties)(device, count, out);
                   }));
      lists.push_back(list_one("zeDeviceGetCommandQueueGroupProperties",
                               filled<ze_command_queue_group_properties_t>(
                                   ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES, kBefore),
                               [&](auto* count, auto* out) {
                                 return PROCTOR_ZE(zeDeviceGetCommandQueueGroupProperties)(device, count,
                                                                                           out);
                               }));
    }
  }
  return lists;
}

// ---- tables ----

namespace {

using GetTable = ze_result_t (*)(std::uint32_t version, void* table);

constexpr std::size_t kRoom = 64;  // more entries than any table has
constexpr std::uint32_t kNotBornYet = ZE_MAKE_VERSION(1, 99);

struct TableEntry {
  const char* table;
  std::size_t slot;
  std::uint32_t since;  // minor version of the interface that introduced the entry
  const char* name;
};

// Entries of function tables. New entries are at the end of a table. Sources: oneapi-src/level-zero ze_ddi.h and
// zes_ddi.h, and the versions of the functions.
constexpr TableEntry kEntries[] = {
    {"zeGetDriverProcAddrTable", 0, 0, "zeDriverGet"},
    {"zeGetContextProcAddrTable", 0, 0, "zeContextCreate"},
    {"zeGetContextProcAddrTable", 8, 1, "zeContextCreateEx"},
    {"zeGetKernelExpProcAddrTable", 0, 1, "zeKernelSetGlobalOffsetExp"},
    {"zeGetEventExpProcAddrTable", 0, 2, "zeEventQueryTimestampsExp"},
    {"zeGetDeviceProcAddrTable", 15, 2, "zeDeviceReserveCacheExt"},
    {"zeGetDeviceProcAddrTable", 17, 3, "zeDevicePciGetPropertiesExt"},
    {"zeGetModuleProcAddrTable", 8, 3, "zeModuleInspectLinkageExt"},
    {"zeGetDeviceExpProcAddrTable", 0, 4, "zeDeviceGetFabricVertexExp"},
    {"zesGetDeviceProcAddrTable", 25, 4, "zesDeviceEccAvailable"},
    {"zesGetDriverProcAddrTable", 2, 5, "zesDriverGet"},
    {"zesGetDeviceProcAddrTable", 29, 5, "zesDeviceGet"},
    {"zeGetDriverProcAddrTable", 6, 6, "zeDriverGetLastErrorDescription"},
    {"zeGetCommandListProcAddrTable", 28, 6, "zeCommandListHostSynchronize"},
    {"zeGetDeviceProcAddrTable", 18, 7, "zeDeviceGetRootDevice"},
    {"zeGetCommandListExpProcAddrTable", 1, 9, "zeCommandListImmediateAppendCommandListsExp"},
    {"zeGetGlobalProcAddrTable", 1, 10, "zeInitDrivers"},
    {"zesGetDriverExpProcAddrTable", 0, 12, "zesDriverGetDeviceByUuidExp"},
};

// The library of the driver. It has function tables, and is not the loader.
void* find_driver(const LevelZero& ze) {
  for (const char* name : {"libproctor_ze_sim.so", "libze_intel_gpu.so"}) {
    const std::string path = xpu::mapped_library(name);
    if (path.empty() || path == ze.path) continue;
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  return nullptr;
}

// The functions that a driver writes to a table for a caller of this version; null for entries that it did not
// write.
struct Table {
  Table(void* driver, const char* name, std::uint32_t version) {
    const auto get = reinterpret_cast<GetTable>(dlsym(driver, name));
    result = get == nullptr ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : get(version, functions);
  }
  template <typename Type>
  Type function(std::size_t slot) const {
    return reinterpret_cast<Type>(functions[slot]);
  }
  void* functions[kRoom] = {};
  ze_result_t result;
};

// Calls functions for which the loader may be too old, through the driver's tables. If there is only one driver,
// the loader passes the driver's own handles.
json call_newer(const LevelZero& ze, void* driver, ze_driver_handle_t handle) {
  json answers;
  const Table global(driver, "zeGetGlobalProcAddrTable", kNotBornYet);
  struct InitDesc {  // ze_init_driver_type_desc_t of 1.10
    ze_structure_type_t stype = static_cast<ze_structure_type_t>(0x00020021);
    const void* next = nullptr;
    std::uint32_t flags = 0;
  };
  if (const auto init = global.function<ze_result_t (*)(std::uint32_t*, ze_driver_handle_t*, void*)>(1)) {
    for (const auto& [kind, flags] : {std::pair{"gpu", 1U}, std::pair{"npu", 2U}, std::pair{"both", 3U}}) {
      InitDesc description{.flags = flags};
      std::uint32_t count = 0;
      auto result = init(&count, nullptr, &description);
      ze_driver_handle_t found = nullptr;
      const std::uint32_t reported = count;
      if (result == ZE_RESULT_SUCCESS && count == 1) result = init(&count, &found, &description);
      answers["init"][kind] = {
          {"result", xpu::result_name(result)}, {"count", reported}, {"same", found == handle}};
    }
  }
  const Table drivers(driver, "zeGetDriverProcAddrTable", kNotBornYet);
  if (const auto last_error = drivers.function<ze_result_t (*)(ze_driver_handle_t, const char**)>(6)) {
    void* address = nullptr;
    // Fails on purpose.
    PROCTOR_ZE(zeDriverGetExtensionFunctionAddress)(handle, "zexProctorNoSuchFunction", &address);
    const char* description = nullptr;
    const auto result = last_error(handle, &description);
    answers["last_error"] = {{"result", xpu::result_name(result)},
                             {"text", description == nullptr ? "" : description}};
  }
  const Table devices(driver, "zeGetDeviceProcAddrTable", kNotBornYet);
  if (const auto root_of = devices.function<ze_result_t (*)(ze_device_handle_t, ze_device_handle_t*)>(18)) {
    answers["roots"] = json::array();
    for (const auto device : xpu::list_devices(ze, handle).handles) {
      ze_device_handle_t root = device;
      root_of(device, &root);
      answers["roots"].push_back({{"of", "card"}, {"right", root == nullptr}});
      for (const auto tile : xpu::list_sub_devices(ze, device).handles) {
        root_of(tile, &root);
        answers["roots"].push_back({{"of", "tile"}, {"right", root == device}});
      }
    }
  }
  return answers;
}

}  // namespace

json ask_tables(const LevelZero& ze) {
  void* const driver = find_driver(ze);
  json answers = {{"found", driver != nullptr}, {"entries", json::array()}};
  if (driver == nullptr) return answers;
  for (const auto& entry : kEntries) {
    json written = json::object();
    for (const std::uint32_t minor : {entry.since - 1, entry.since, std::uint32_t{99}}) {
      if (minor > 99) continue;  // There is no version before 1.0.
      const Table table(driver, entry.table, ZE_MAKE_VERSION(1, minor));
      written[std::to_string(minor)] = table.functions[entry.slot] != nullptr;
    }
    answers["entries"].push_back({{"name", entry.name}, {"since", entry.since}, {"written", written}});
  }
  for (const std::uint32_t major : {0U, 1U, 2U}) {
    const Table table(driver, "zeGetDriverProcAddrTable", ZE_MAKE_VERSION(major, 0));
    answers["results"][std::to_string(major)] = xpu::result_name(table.result);
  }
  const auto drivers = xpu::list_drivers(ze).handles;
  if (drivers.size() == 1) {
    answers["newer"] = call_newer(ze, driver, drivers[0]);
    const Table table(driver, "zeGetDriverProcAddrTable", ZE_MAKE_VERSION(1, 0));
    ze_api_version_t version{};
    const auto get = table.function<decltype(&::zeDriverGetApiVersion)>(1);
    if (get != nullptr) get(drivers[0], &version);
    answers["version"] = ZE_MAJOR_VERSION(version);
  }
  return answers;
}

}  // namespace proctor::visibility
