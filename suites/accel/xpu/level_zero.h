// Calls Level Zero through its loader, which is loaded at run time. A program with this code starts on
// machines without any Intel library. It also works with loaders that lack newer entry points: any function
// pointer can be null.
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suites/accel/shared_library.h"

namespace proctor::xpu {

inline constexpr const char* kLoaderName = "libze_loader.so.1";

// Opens the loader of this system. If there is none, opens that of this installation, in level_zero/ next to
// the program. Afterwards every dlopen() of kLoaderName in this process returns the same library.
SharedLibrary open_loader();

// The functions of the loader. Entry points that were added after Level Zero 1.0 are declared here, because
// the headers of the build may be older.
struct LevelZero {
  decltype(&::zeInit) init = nullptr;
  decltype(&::zeDriverGet) driver_get = nullptr;
  decltype(&::zeDriverGetApiVersion) driver_get_api_version = nullptr;
  decltype(&::zeDriverGetProperties) driver_get_properties = nullptr;
  decltype(&::zeDeviceGet) device_get = nullptr;
  decltype(&::zeDeviceGetSubDevices) device_get_sub_devices = nullptr;
  decltype(&::zeDeviceGetProperties) device_get_properties = nullptr;
  decltype(&::zeDeviceGetMemoryProperties) device_get_memory_properties = nullptr;
  decltype(&::zeDeviceCanAccessPeer) device_can_access_peer = nullptr;
  decltype(&::zeDevicePciGetPropertiesExt) device_pci_get_properties = nullptr;
  ze_result_t (*device_get_root_device)(ze_device_handle_t, ze_device_handle_t*) = nullptr;  // 1.7
  ze_result_t (*init_drivers)(std::uint32_t*, ze_driver_handle_t*, void*) = nullptr;         // 1.10

  ze_result_t (*sysman_init)(std::uint32_t flags) = nullptr;  // 1.5
  ze_result_t (*sysman_driver_get)(std::uint32_t*, zes_driver_handle_t*) = nullptr;
  ze_result_t (*sysman_device_get)(zes_driver_handle_t, std::uint32_t*, zes_device_handle_t*) = nullptr;
  decltype(&::zesDeviceGetProperties) sysman_device_get_properties = nullptr;

  std::string path;                          // path of the loaded file
  std::vector<std::string> missing_symbols;  // functions above that the loader lacks
  void* library = nullptr;

  bool lacks(const std::string& symbol) const;
};

// Loads the loader once in a process and never unloads it. If that fails, `why` receives the message of the
// dynamic linker.
std::optional<LevelZero> load_level_zero(std::string& why);

// Returns the version of the loader, "1.8.12", or "" if it is not reported. Most loaders report it only after
// zeInit.
std::string loader_version(const LevelZero& ze);

// Returns "ZE_RESULT_ERROR_UNINITIALIZED", or "0x7ffffffe" for an unknown code.
std::string result_name(ze_result_t result);

// Returns the path of a mapped library of this process whose name contains `name_part`, or "".
std::string mapped_library(const std::string& name_part);

// The result of the two-call pattern of Level Zero. On failure `handles` is empty and `result` is the error.
template <typename Handle>
struct Listing {
  ze_result_t result = ZE_RESULT_SUCCESS;
  std::vector<Handle> handles;
};
Listing<ze_driver_handle_t> list_drivers(const LevelZero& ze);
Listing<ze_device_handle_t> list_devices(const LevelZero& ze, ze_driver_handle_t driver);
Listing<ze_device_handle_t> list_sub_devices(const LevelZero& ze, ze_device_handle_t device);

std::string uuid_text(const ze_device_uuid_t& uuid);            // 32 hex digits, in the driver's order
std::string driver_version_text(std::uint32_t version);         // "1.3.29735"
std::string pci_text(const LevelZero& ze, ze_device_handle_t);  // "0000:03:00.0"; "" if unavailable

}  // namespace proctor::xpu
