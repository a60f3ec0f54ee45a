// Free memory, through the management interface. It has two generations: a core handle that is used as a
// management handle (ZES_ENABLE_SYSMAN before zeInit), and since Level Zero 1.5 one of its own (zesInit),
// found by UUID.
#include <cstring>
#include <optional>

#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

// Of a card, or of one tile of it.
std::optional<MemoryInfo> memory_of(zes_device_handle_t device, std::optional<std::uint32_t> tile) {
  std::uint32_t count = 0;
  if (!ZE_CALL(zesDeviceEnumMemoryModules, device, &count, nullptr).ok() || count == 0) return std::nullopt;
  std::vector<zes_mem_handle_t> modules(count);
  if (!ZE_CALL(zesDeviceEnumMemoryModules, device, &count, modules.data()).ok()) return std::nullopt;
  MemoryInfo info;
  for (const zes_mem_handle_t module : modules) {
    zes_mem_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    if (!ZE_CALL(zesMemoryGetProperties, module, &properties).ok()) return std::nullopt;
    if (tile && (!properties.onSubdevice || properties.subdeviceId != *tile)) continue;
    zes_mem_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    if (!ZE_CALL(zesMemoryGetState, module, &state).ok()) return std::nullopt;
    info.free += state.free;
    info.total += state.size;
  }
  return info;
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

}  // namespace

MemoryInfo Device::memory() const {
  const bool is_tile = record_->root != nullptr;
  const auto tile = is_tile ? std::optional(record_->tile) : std::nullopt;
  const ze_device_handle_t card = is_tile ? record_->root : record_->handle;
  if (const auto info = memory_of(reinterpret_cast<zes_device_handle_t>(card), tile)) return *info;
  if (const zes_device_handle_t twin = managed_twin(record_->properties.uuid)) {
    if (const auto info = memory_of(twin, tile)) return *info;
  }
  throw suite::Skipped("unsupported:sysman_memory");
}

}  // namespace proctor::accel
