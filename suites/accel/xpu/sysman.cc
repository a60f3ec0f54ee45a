#include "suites/accel/xpu/sysman.h"

#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace proctor::xpu {
namespace {

constexpr const char* kVariable = "ZES_ENABLE_SYSMAN";

ze_device_properties_t properties_of(const LevelZero& ze, ze_device_handle_t device) {
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  if (ze.device_get_properties(device, &properties) != ZE_RESULT_SUCCESS) return {};
  return properties;
}

bool same(const ze_device_uuid_t& a, const ze_device_uuid_t& b) {
  return std::memcmp(a.id, b.id, sizeof a.id) == 0;
}

ze_driver_handle_t core(zes_driver_handle_t driver) { return reinterpret_cast<ze_driver_handle_t>(driver); }

// Returns all handles of a list, or none if a call fails.
template <typename Handle, typename List>
std::vector<Handle> all_of(const List& list) {
  std::uint32_t count = 0;
  if (list(&count, nullptr) != ZE_RESULT_SUCCESS || count == 0) return {};
  std::vector<Handle> handles(count);
  if (list(&count, handles.data()) != ZE_RESULT_SUCCESS) return {};
  return handles;
}

}  // namespace

void prepare_sysman(const LevelZero& ze) {
  if (ze.lacks(kZesInit.name)) {
    setenv(kVariable, "1", 1);
  } else {
    unsetenv(kVariable);
  }
}

const ManagedDevice& Sysman::find(ze_driver_handle_t driver, ze_device_handle_t device,
                                  ze_device_handle_t card) {
  const std::scoped_lock lock(mutex_);
  const auto known = found_.find(device);
  if (known != found_.end()) return known->second;
  return found_.emplace(device, search(driver, device, card)).first->second;
}

ManagedDevice Sysman::search(ze_driver_handle_t driver, ze_device_handle_t device, ze_device_handle_t card) {
  if (!started_) {
    started_ = true;
    if (!ze_.lacks(kZesInit.name))
      start([loader = open_loader().handle()](const Place& place) { return dlsym(loader, place.name); });
  }
  if (!drivers_.empty()) return twin(device, card);
  const auto core_handle = reinterpret_cast<zes_device_handle_t>(card != nullptr ? card : device);
  if (accepts(core_handle)) {
    ManagedDevice self{.handle = core_handle, .driver = driver};
    if (card != nullptr) self.tiles = {properties_of(ze_, device).subdeviceId};
    return self;
  }
  if (!started_driver_ && ze_.lacks(kZesInit.name) && passes_handles_on()) {
    started_driver_ = true;
    if (void* const library = sysman_driver())
      start([library](const Place& place) { return function_of_driver(library, place); });
  }
  return drivers_.empty() ? ManagedDevice{} : twin(device, card);
}

template <typename Find>
void Sysman::start(const Find& find) {
  const auto set = [&](auto& function, const Place& place) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(place));
    return function != nullptr;
  };
  set(functions_.by_uuid, kZesDriverGetDeviceByUuid);
  const bool complete = set(functions_.init, kZesInit) && set(functions_.driver_get, kZesDriverGet) &&
                        set(functions_.device_get, kZesDeviceGet) &&
                        set(functions_.properties, kZesDeviceGetProperties);
  if (complete && functions_.init(0) == ZE_RESULT_SUCCESS)
    drivers_ = all_of<zes_driver_handle_t>(functions_.driver_get);
}

ManagedDevice Sysman::twin(ze_device_handle_t device, ze_device_handle_t card) const {
  const auto properties = properties_of(ze_, device);
  if (ManagedDevice found = named(properties.uuid); found.handle != nullptr) {
    if (found.tiles.empty()) found.tiles = tiles_of(device);
    return found;
  }
  if (card == nullptr && ze_.device_get_root_device != nullptr) ze_.device_get_root_device(device, &card);
  ManagedDevice found = listed(card != nullptr ? properties_of(ze_, card).uuid : properties.uuid);
  if (found.handle == nullptr) return found;
  found.tiles = card != nullptr ? std::vector{properties.subdeviceId} : tiles_of(device);
  return found;
}

// Returns the card or the tile with this UUID.
ManagedDevice Sysman::named(const ze_device_uuid_t& uuid) const {
  if (functions_.by_uuid == nullptr) return {};
  for (const zes_driver_handle_t driver : drivers_) {
    ManagedDevice found{.handle = nullptr, .driver = core(driver)};
    ze_bool_t on_tile = 0;
    std::uint32_t tile = 0;
    if (functions_.by_uuid(driver, uuid, &found.handle, &on_tile, &tile) != ZE_RESULT_SUCCESS) continue;
    if (on_tile != 0) found.tiles = {tile};
    return found;
  }
  return {};
}

// Returns the card with this UUID, for drivers without a search function.
ManagedDevice Sysman::listed(const ze_device_uuid_t& uuid) const {
  for (const zes_driver_handle_t driver : drivers_) {
    const auto devices = all_of<zes_device_handle_t>([&](std::uint32_t* count, zes_device_handle_t* out) {
      return functions_.device_get(driver, count, out);
    });
    for (const zes_device_handle_t device : devices) {
      zes_device_properties_t properties{};
      properties.stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES;
      if (functions_.properties(device, &properties) != ZE_RESULT_SUCCESS) continue;
      if (same(properties.core.uuid, uuid)) return {.handle = device, .driver = core(driver)};
    }
  }
  return {};
}

// Returns the tiles of the device that this process can see. A mask can hide some tiles of a card.
std::vector<std::uint32_t> Sysman::tiles_of(ze_device_handle_t device) const {
  std::vector<std::uint32_t> tiles;
  for (const ze_device_handle_t tile : list_sub_devices(ze_, device).handles) {
    const auto properties = properties_of(ze_, tile);
    const ManagedDevice found = named(properties.uuid);
    tiles.push_back(found.tiles.empty() ? properties.subdeviceId : found.tiles.front());
  }
  return tiles;
}

bool Sysman::accepts(zes_device_handle_t core_handle) const {
  if (ze_.sysman_device_get_properties == nullptr) return false;
  zes_device_properties_t properties{};
  properties.stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  return ze_.sysman_device_get_properties(core_handle, &properties) != ZE_RESULT_ERROR_UNINITIALIZED;
}

// Returns whether the loader passes handles unchanged. It wraps them if it intercepts calls or has several
// drivers.
bool Sysman::passes_handles_on() const {
  return std::getenv("ZE_ENABLE_LOADER_INTERCEPT") == nullptr && list_drivers(ze_).handles.size() == 1;
}

void* sysman_driver() {
  void* found = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        const std::string_view path = info->dlpi_name;
        if (path.empty() || path.find("libze_loader") != path.npos || path.find("_layer") != path.npos)
          return 0;
        void* const library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
        if (library == nullptr || dlsym(library, kZesInit.table) == nullptr) return 0;
        *static_cast<void**>(into) = library;
        return 1;
      },
      &found);
  return found;
}

void* function_of_driver(void* driver, const Place& place) {
  using Fill = ze_result_t (*)(std::uint32_t version, void* table);
  constexpr std::size_t kRoom = 128;  // more slots than any table
  void* table[kRoom] = {};
  const auto fill = reinterpret_cast<Fill>(dlsym(driver, place.table));
  const std::uint32_t newest = ZE_MAKE_VERSION(1, 99);
  return fill != nullptr && fill(newest, table) == ZE_RESULT_SUCCESS ? table[place.slot] : nullptr;
}

}  // namespace proctor::xpu
