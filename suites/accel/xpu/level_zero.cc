#include "suites/accel/xpu/level_zero.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <level_zero/loader/ze_loader.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace proctor::xpu {
namespace {

// Functions that every loader of Level Zero 1.0 has. A library without them is not a loader.
constexpr std::array kNeeded{
    symbol<&LevelZero::init>("zeInit"),
    symbol<&LevelZero::driver_get>("zeDriverGet"),
    symbol<&LevelZero::driver_get_api_version>("zeDriverGetApiVersion"),
    symbol<&LevelZero::driver_get_properties>("zeDriverGetProperties"),
    symbol<&LevelZero::device_get>("zeDeviceGet"),
    symbol<&LevelZero::device_get_sub_devices>("zeDeviceGetSubDevices"),
    symbol<&LevelZero::device_get_properties>("zeDeviceGetProperties"),
    symbol<&LevelZero::device_get_memory_properties>("zeDeviceGetMemoryProperties"),
    symbol<&LevelZero::device_can_access_peer>("zeDeviceCanAccessPeer"),
};
// Functions that may be missing.
constexpr std::array kOptional{
    symbol<&LevelZero::device_pci_get_properties>("zeDevicePciGetPropertiesExt"),
    symbol<&LevelZero::device_get_root_device>("zeDeviceGetRootDevice"),
    symbol<&LevelZero::init_drivers>("zeInitDrivers"),
    symbol<&LevelZero::sysman_init>("zesInit"),
    symbol<&LevelZero::sysman_driver_get>("zesDriverGet"),
    symbol<&LevelZero::sysman_device_get>("zesDeviceGet"),
    symbol<&LevelZero::sysman_device_get_properties>("zesDeviceGetProperties"),
};

template <typename Handle, typename Get>
Listing<Handle> list(Get&& get) {
  Listing<Handle> listing;
  std::uint32_t count = 0;
  listing.result = get(&count, nullptr);
  if (listing.result != ZE_RESULT_SUCCESS || count == 0) return listing;
  listing.handles.resize(count);
  listing.result = get(&count, listing.handles.data());
  listing.handles.resize(listing.result == ZE_RESULT_SUCCESS ? count : 0);
  return listing;
}

}  // namespace

SharedLibrary open_loader() {
  SharedLibrary of_system(kLoaderName);
  if (of_system.loaded()) return of_system;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  SharedLibrary own((program.parent_path() / "level_zero" / kLoaderName).string());
  return own.loaded() ? own : of_system;  // the error of the system loader has the usual library name
}

bool LevelZero::lacks(const std::string& symbol) const {
  return std::find(missing_symbols.begin(), missing_symbols.end(), symbol) != missing_symbols.end();
}

std::optional<LevelZero> load_level_zero(std::string& why) {
  const SharedLibrary library = open_loader();
  if (!library.loaded()) {
    why = library.error();
    return std::nullopt;
  }
  LevelZero ze;
  if (library.find_all(kNeeded, ze) != nullptr) {
    why = fmt::format("{} lacks entry points of Level Zero 1.0", kLoaderName);
    return std::nullopt;
  }
  for (const auto& function : kOptional) {
    if (!library.find(function, ze)) ze.missing_symbols.emplace_back(function.name);
  }
  ze.path = mapped_library(kLoaderName);
  ze.library = library.handle();
  return ze;
}

std::string loader_version(const LevelZero& ze) {
  const auto get =
      reinterpret_cast<decltype(&::zelLoaderGetVersions)>(dlsym(ze.library, "zelLoaderGetVersions"));
  if (get == nullptr) return {};
  std::size_t count = 0;
  if (get(&count, nullptr) != ZE_RESULT_SUCCESS || count == 0) return {};
  std::vector<zel_component_version_t> components(count);
  if (get(&count, components.data()) != ZE_RESULT_SUCCESS) return {};
  for (const auto& component : components) {
    if (std::string_view(component.component_name) != "loader") continue;
    const auto& version = component.component_lib_version;
    return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
  }
  return {};
}

std::string mapped_library(const std::string& name_part) {
  struct Search {
    const std::string& part;
    std::string found;
  } search{name_part, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& state = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name;
        if (path.find(state.part) == std::string_view::npos) return 0;
        state.found = path;
        return 1;
      },
      &search);
  return search.found;
}

Listing<ze_driver_handle_t> list_drivers(const LevelZero& ze) {
  return list<ze_driver_handle_t>(ze.driver_get);
}

Listing<ze_device_handle_t> list_devices(const LevelZero& ze, ze_driver_handle_t driver) {
  return list<ze_device_handle_t>([&](std::uint32_t* count, ze_device_handle_t* devices) {
    return ze.device_get(driver, count, devices);
  });
}

Listing<ze_device_handle_t> list_sub_devices(const LevelZero& ze, ze_device_handle_t device) {
  return list<ze_device_handle_t>([&](std::uint32_t* count, ze_device_handle_t* devices) {
    return ze.device_get_sub_devices(device, count, devices);
  });
}

// Formats Intel's version, which packs major, minor and build number into 8, 8 and 16 bits.
std::string driver_version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version >> 24, version >> 16 & 0xff, version & 0xffff);
}

std::string uuid_text(const ze_device_uuid_t& uuid) {
  std::string text;
  for (const std::uint8_t byte : uuid.id) text += fmt::format("{:02x}", byte);
  return text;
}

std::string pci_text(const LevelZero& ze, ze_device_handle_t device) {
  if (ze.device_pci_get_properties == nullptr) return {};
  ze_pci_ext_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
  if (ze.device_pci_get_properties(device, &properties) != ZE_RESULT_SUCCESS) return {};
  const auto& at = properties.address;
  // 0000:00:00.0 is the host bridge. A driver without a real device reports this address.
  if (at.domain == 0 && at.bus == 0 && at.device == 0 && at.function == 0) return {};
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", at.domain, at.bus, at.device, at.function);
}

namespace {

struct NamedResult {
  std::uint32_t code;
  const char* name;
};

// Source: Level Zero specification 1.13, ze_result_t.
constexpr NamedResult kResults[] = {
    {0x0, "ZE_RESULT_SUCCESS"},
    {0x1, "ZE_RESULT_NOT_READY"},
    {0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST"},
    {0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
    {0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
    {0x70000004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"},
    {0x70000005, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE"},
    {0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
    {0x70000007, "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE"},
    {0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"},
    {0x70010001, "ZE_RESULT_ERROR_NOT_AVAILABLE"},
    {0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"},
    {0x70020001, "ZE_RESULT_WARNING_DROPPED_DATA"},
    {0x78000001, "ZE_RESULT_ERROR_UNINITIALIZED"},
    {0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"},
    {0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
    {0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT"},
    {0x78000005, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"},
    {0x78000006, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE"},
    {0x78000007, "ZE_RESULT_ERROR_INVALID_NULL_POINTER"},
    {0x78000008, "ZE_RESULT_ERROR_INVALID_SIZE"},
    {0x78000009, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"},
    {0x7800000a, "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT"},
    {0x7800000b, "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"},
    {0x7800000c, "ZE_RESULT_ERROR_INVALID_ENUMERATION"},
    {0x7800000d, "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION"},
    {0x7800000e, "ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT"},
    {0x7800000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY"},
    {0x78000010, "ZE_RESULT_ERROR_INVALID_GLOBAL_NAME"},
    {0x78000011, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"},
    {0x78000012, "ZE_RESULT_ERROR_INVALID_FUNCTION_NAME"},
    {0x78000013, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION"},
    {0x78000014, "ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION"},
    {0x78000015, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX"},
    {0x78000016, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE"},
    {0x78000017, "ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE"},
    {0x78000018, "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED"},
    {0x78000019, "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE"},
    {0x7800001a, "ZE_RESULT_ERROR_OVERLAPPING_REGIONS"},
    {0x7800001b, "ZE_RESULT_WARNING_ACTION_REQUIRED"},
    {0x7ffffffe, "ZE_RESULT_ERROR_UNKNOWN"},
};

}  // namespace

std::string result_name(ze_result_t result) {
  const auto code = static_cast<std::uint32_t>(result);
  for (const NamedResult& row : kResults) {
    if (row.code == code) return row.name;
  }
  return fmt::format("{:#010x}", code);
}

}  // namespace proctor::xpu
