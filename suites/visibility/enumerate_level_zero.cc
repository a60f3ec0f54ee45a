#include "suites/visibility/enumerate_level_zero.h"

#include <fmt/format.h>

namespace proctor::visibility {
namespace {

using xpu::LevelZero;

ze_device_properties_t properties_of(const LevelZero& ze, ze_device_handle_t device) {
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  ze.device_get_properties(device, &properties);
  return properties;
}

std::uint64_t memory_bytes(const LevelZero& ze, ze_device_handle_t device) {
  std::uint32_t count = 0;
  ze.device_get_memory_properties(device, &count, nullptr);
  std::vector<ze_device_memory_properties_t> memories(count);
  for (auto& memory : memories) memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
  if (count > 0) ze.device_get_memory_properties(device, &count, memories.data());
  std::uint64_t total = 0;
  for (const auto& memory : memories) total += memory.totalSize;
  return total;
}

std::string root_of(const LevelZero& ze, ze_device_handle_t device) {
  ze_device_handle_t root = nullptr;
  if (ze.device_get_root_device == nullptr || ze.device_get_root_device(device, &root) != ZE_RESULT_SUCCESS ||
      root == nullptr) {
    return {};
  }
  return xpu::uuid_text(properties_of(ze, root).uuid);
}

DeviceRecord describe(const LevelZero& ze, ze_device_handle_t device, int driver) {
  const auto properties = properties_of(ze, device);
  DeviceRecord record;
  record.name = properties.name;
  record.uuid = xpu::uuid_text(properties.uuid);
  record.pci = xpu::pci_text(ze, device);
  record.vendor_id = properties.vendorId;
  record.device_id = properties.deviceId;
  record.memory_bytes = memory_bytes(ze, device);
  record.execution_units =
      properties.numSlices * properties.numSubslicesPerSlice * properties.numEUsPerSubslice;
  record.is_sub_device = (properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0;
  record.sub_id = properties.subdeviceId;
  record.driver = driver;
  record.root = root_of(ze, device);
  for (const auto sub_device : xpu::list_sub_devices(ze, device).handles) {
    record.sub_ids.push_back(properties_of(ze, sub_device).subdeviceId);
  }
  return record;
}

}  // namespace

Enumeration enumerate_level_zero(const LevelZero& ze) {
  Enumeration seen;
  const ze_result_t init = ze.init(ZE_INIT_FLAG_GPU_ONLY);
  seen.init = xpu::result_name(init);
  if (init != ZE_RESULT_SUCCESS) return seen;
  const auto drivers = xpu::list_drivers(ze).handles;
  seen.drivers = static_cast<int>(drivers.size());
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    if (i == 0) {
      ze_api_version_t api{};
      ze.driver_get_api_version(drivers[0], &api);
      seen.api = fmt::format("{}.{}", ZE_MAJOR_VERSION(api), ZE_MINOR_VERSION(api));
      ze_driver_properties_t properties{};
      properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
      ze.driver_get_properties(drivers[0], &properties);
      seen.driver_version = properties.driverVersion;
    }
    for (const auto device : xpu::list_devices(ze, drivers[i]).handles) {
      seen.devices.push_back(describe(ze, device, static_cast<int>(i)));
    }
  }
  return seen;
}

Enumeration enumerate_tiles(const LevelZero& ze) {
  Enumeration tiles;
  tiles.init = xpu::result_name(ze.init(ZE_INIT_FLAG_GPU_ONLY));
  const auto drivers = xpu::list_drivers(ze).handles;
  tiles.drivers = static_cast<int>(drivers.size());
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    for (const auto device : xpu::list_devices(ze, drivers[i]).handles) {
      for (const auto tile : xpu::list_sub_devices(ze, device).handles)
        tiles.devices.push_back(describe(ze, tile, static_cast<int>(i)));
    }
  }
  return tiles;
}

std::vector<ze_device_handle_t> all_devices(const LevelZero& ze) {
  std::vector<ze_device_handle_t> all;
  for (const auto driver : xpu::list_drivers(ze).handles) {
    const auto devices = xpu::list_devices(ze, driver).handles;
    all.insert(all.end(), devices.begin(), devices.end());
  }
  return all;
}

}  // namespace proctor::visibility
