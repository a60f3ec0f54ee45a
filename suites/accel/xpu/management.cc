// Free memory, temperature and energy, through the management interface. It has two generations: a core
// handle that is used as a management handle (ZES_ENABLE_SYSMAN before zeInit), and since Level Zero 1.5 one
// of its own (zesInit), found by UUID.
#include <cstring>
#include <optional>

#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

// LISTED(zesDeviceEnumMemoryModules, zes_mem_handle_t, device): all of them; none where the call fails.
#define LISTED(call, Handle, device)                                                \
  [&] {                                                                             \
    std::uint32_t count = 0;                                                        \
    std::vector<Handle> all;                                                        \
    if (!ZE_CALL(call, device, &count, nullptr).ok()) return all;                   \
    all.resize(count);                                                              \
    if (count == 0 || !ZE_CALL(call, device, &count, all.data()).ok()) all.clear(); \
    return all;                                                                     \
  }()

// Of a card, or of one tile of it. Memory of the system that it lists as well is not the device's.
std::optional<MemoryInfo> memory_of(zes_device_handle_t device, std::optional<std::uint32_t> tile) {
  const auto modules = LISTED(zesDeviceEnumMemoryModules, zes_mem_handle_t, device);
  MemoryInfo info;
  for (const zes_mem_handle_t module : modules) {
    zes_mem_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    if (!ZE_CALL(zesMemoryGetProperties, module, &properties).ok()) return std::nullopt;
    if (properties.location != ZES_MEM_LOC_DEVICE) continue;
    if (tile && (!properties.onSubdevice || properties.subdeviceId != *tile)) continue;
    zes_mem_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    if (!ZE_CALL(zesMemoryGetState, module, &state).ok()) return std::nullopt;
    info.free += state.free;
    info.total += state.size;
  }
  if (info.total == 0) return std::nullopt;
  return info;
}

std::optional<Heat> heat_of(zes_device_handle_t device) {
  std::optional<Heat> nearest;
  for (const zes_temp_handle_t sensor : LISTED(zesDeviceEnumTemperatureSensors, zes_temp_handle_t, device)) {
    zes_temp_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_TEMP_PROPERTIES;
    Heat heat;
    if (!ZE_CALL(zesTemperatureGetProperties, sensor, &properties).ok()) continue;
    if (!ZE_CALL(zesTemperatureGetState, sensor, &heat.now).ok()) continue;
    heat.limit = properties.maxTemperature;
    if (heat.limit <= 0) continue;  // -1: not known
    if (!nearest || heat.limit - heat.now < nearest->limit - nearest->now) nearest = heat;
  }
  return nearest;
}

std::optional<Energy> energy_of(zes_device_handle_t device) {
  for (const zes_pwr_handle_t domain : LISTED(zesDeviceEnumPowerDomains, zes_pwr_handle_t, device)) {
    zes_power_energy_counter_t counter{};
    if (!ZE_CALL(zesPowerGetEnergyCounter, domain, &counter).ok()) continue;
    zes_power_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_POWER_PROPERTIES;
    const bool told = ZE_CALL(zesPowerGetProperties, domain, &properties).ok() && properties.maxLimit > 0;
    return Energy{counter.energy, counter.timestamp,
                  told ? static_cast<std::uint64_t>(properties.maxLimit) : 0};
  }
  return std::nullopt;
}

zes_device_handle_t managed_twin(const std::string& uuid) {
  std::string why;
  const auto ze = xpu::load_level_zero(why);
  if (!ze || ze->sysman_init == nullptr || ze->sysman_init(0) != ZE_RESULT_SUCCESS) return nullptr;
  std::uint32_t drivers = 0;
  if (ze->sysman_driver_get(&drivers, nullptr) != ZE_RESULT_SUCCESS) return nullptr;
  std::vector<zes_driver_handle_t> handles(drivers);
  if (ze->sysman_driver_get(&drivers, handles.data()) != ZE_RESULT_SUCCESS) return nullptr;
  for (const zes_driver_handle_t driver : handles) {
    std::uint32_t count = 0;
    if (ze->sysman_device_get(driver, &count, nullptr) != ZE_RESULT_SUCCESS) continue;
    std::vector<zes_device_handle_t> devices(count);
    if (ze->sysman_device_get(driver, &count, devices.data()) != ZE_RESULT_SUCCESS) continue;
    for (const zes_device_handle_t device : devices) {
      zes_device_properties_t properties{};
      properties.stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES;
      if (ze->sysman_device_get_properties(device, &properties) != ZE_RESULT_SUCCESS) continue;
      if (xpu::uuid_text(properties.core.uuid) == uuid) return device;
    }
  }
  return nullptr;
}

// What `read` finds through the core handle, else through the management interface's own.
template <typename Read>
auto managed(const DeviceRecord& record, Read read, const char* what) {
  const ze_device_handle_t card = record.root != nullptr ? record.root : record.handle;
  if (const auto found = read(reinterpret_cast<zes_device_handle_t>(card))) return *found;
  if (const zes_device_handle_t twin = managed_twin(record.properties.uuid)) {
    if (const auto found = read(twin)) return *found;
  }
  throw suite::Skipped(std::string("unsupported:") + what);
}

}  // namespace

// What is free of an integrated device is the host's, and moves with every program there.
MemoryInfo Device::memory() const {
  if (record_->integrated) throw suite::Skipped("needs:own_memory");
  const auto tile = record_->root != nullptr ? std::optional(record_->tile) : std::nullopt;
  return managed(
      *record_, [&](zes_device_handle_t device) { return memory_of(device, tile); }, "sysman_memory");
}

Heat Device::heat() const { return managed(*record_, heat_of, "sysman_temperature"); }

Energy Device::energy() const { return managed(*record_, energy_of, "sysman_energy"); }

Status Device::try_reset() const {
  const auto reset = [](zes_device_handle_t device) -> std::optional<Status> {
    const Status answer = ZE_CALL(zesDeviceReset, device, false);
    return answer.unsupported() ? std::nullopt : std::optional(answer);
  };
  return managed(*record_, reset, "sysman_reset");
}

}  // namespace proctor::accel
