// Reads free memory, temperature and energy through Sysman, the management interface of Level Zero.
#include <optional>

#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

// LISTED(zesDeviceEnumMemoryModules, zes_mem_handle_t, device) returns all handles, or none if the call
// fails.
#define LISTED(call, Handle, device)                                                \
  [&] {                                                                             \
    std::uint32_t count = 0;                                                        \
    std::vector<Handle> all;                                                        \
    if (!ZE_CALL(call, device, &count, nullptr).ok()) return all;                   \
    all.resize(count);                                                              \
    if (count == 0 || !ZE_CALL(call, device, &count, all.data()).ok()) all.clear(); \
    return all;                                                                     \
  }()

// Sysman also lists system memory, which does not belong to the device.
std::optional<MemoryInfo> memory_of(const xpu::ManagedDevice& device) {
  const auto modules = LISTED(zesDeviceEnumMemoryModules, zes_mem_handle_t, device.handle);
  MemoryInfo info;
  for (const zes_mem_handle_t module : modules) {
    zes_mem_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    if (!ZE_CALL(zesMemoryGetProperties, module, &properties).ok()) return std::nullopt;
    if (properties.location != ZES_MEM_LOC_DEVICE || !device.has(properties)) continue;
    zes_mem_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    if (!ZE_CALL(zesMemoryGetState, module, &state).ok()) return std::nullopt;
    info.free += state.free;
    info.total += state.size;
  }
  if (info.total == 0) return std::nullopt;
  return info;
}

std::optional<Heat> heat_of(const xpu::ManagedDevice& device) {
  std::optional<Heat> nearest;
  for (const zes_temp_handle_t sensor :
       LISTED(zesDeviceEnumTemperatureSensors, zes_temp_handle_t, device.handle)) {
    zes_temp_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_TEMP_PROPERTIES;
    Heat heat;
    if (!ZE_CALL(zesTemperatureGetProperties, sensor, &properties).ok()) continue;
    if (!ZE_CALL(zesTemperatureGetState, sensor, &heat.now).ok()) continue;
    heat.limit = properties.maxTemperature;
    if (heat.limit <= 0) continue;  // -1: unknown
    if (!nearest || heat.limit - heat.now < nearest->limit - nearest->now) nearest = heat;
  }
  return nearest;
}

std::optional<Energy> energy_of(const xpu::ManagedDevice& device) {
  for (const zes_pwr_handle_t domain : LISTED(zesDeviceEnumPowerDomains, zes_pwr_handle_t, device.handle)) {
    zes_power_energy_counter_t counter{};
    if (!ZE_CALL(zesPowerGetEnergyCounter, domain, &counter).ok()) continue;
    zes_power_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_POWER_PROPERTIES;
    const bool reported = ZE_CALL(zesPowerGetProperties, domain, &properties).ok() && properties.maxLimit > 0;
    return Energy{counter.energy, counter.timestamp,
                  reported ? static_cast<std::uint64_t>(properties.maxLimit) : 0};
  }
  return std::nullopt;
}

const xpu::ManagedDevice& found(const DeviceRecord& record) {
  all_devices();  // initialises Level Zero
  static xpu::Sysman sysman = [] {
    std::string why;
    return xpu::Sysman(*xpu::load_level_zero(why));
  }();
  return sysman.find(record.driver, record.handle, record.root);
}

// Returns the result of `read` for the device in Sysman.
template <typename Read>
auto managed(const DeviceRecord& record, Read read, const char* what) {
  const xpu::ManagedDevice& device = found(record);
  if (device.handle != nullptr) {
    if (const auto answer = read(device)) return *answer;
  }
  throw suite::Skipped(std::string("unsupported:") + what);
}

}  // namespace

const xpu::ManagedDevice& in_sysman(const Device& device) {
  const xpu::ManagedDevice& managed_device = found(*device.record());
  if (managed_device.handle == nullptr) throw suite::Skipped("unsupported:management");
  return managed_device;
}

// The free memory of an integrated device is that of the host, and changes with every program there.
MemoryInfo Device::memory() const {
  if (record_->integrated) throw suite::Skipped("needs:own_memory");
  return managed(*record_, memory_of, "sysman_memory");
}

Heat Device::heat() const { return managed(*record_, heat_of, "sysman_temperature"); }

Energy Device::energy() const { return managed(*record_, energy_of, "sysman_energy"); }

Status Device::try_reset() const {
  const auto reset = [](const xpu::ManagedDevice& device) -> std::optional<Status> {
    const Status answer = ZE_CALL(zesDeviceReset, device.handle, false);
    return answer.unsupported() ? std::nullopt : std::optional(answer);
  };
  return managed(*record_, reset, "sysman_reset");
}

}  // namespace proctor::accel
