// Finds devices in Sysman, the management interface of Level Zero. Sysman has two entry points:
//
//   zesInit        since Level Zero 1.5. It has its own handles, and no mask hides a card. A device is matched by
//                  its UUID.
//   a core handle  With ZES_ENABLE_SYSMAN=1 in the environment of zeInit, the core handle of a device is also its
//                  Sysman handle. Deprecated. Intel's driver supports it with the kernel driver i915 only. With
//                  the kernel driver xe each such call returns ZE_RESULT_ERROR_UNINITIALIZED.
//
// A process uses one of them (Sysman Programming Guide: "Avoid using both"). Intel's driver has one switch
// for all zes* calls. After a zeInit with the variable, it refuses zesInit on most products, or reads the
// handles of zesInit as core handles. The order is:
//
//   1. prepare_sysman(), before zeInit. If the loader has zesInit, the variable is removed. Otherwise it is set.
//   2. zeInit.
//   3. zesInit, at the first query ("There is no requirement to call this function before or after zeInit"). A process
//      without a query depends neither on the management of its driver nor on the other cards of the machine.
//   4. If the loader lacks zesInit, or zesInit fails: the core handle, unless the driver refuses it.
//   5. If the loader is older than zesInit and the core handle is refused: zesInit of the driver itself.
//
// A driver without zesInit below a loader that has it is not managed: step 1 cannot detect it before zeInit.
//
// Sources: Level Zero specification, zesInit; intel/compute-runtime, zes_sysman_api_entrypoints.h
// (dispatchSysmanApi) and sysman/source/shared/linux/zes_os_sysman_imp.cpp (isZesInitSupported).
#pragma once

#include <level_zero/zes_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "suites/accel/xpu/level_zero.h"

namespace proctor::xpu {

// Sets or removes the environment variable. Call it before zeInit.
void prepare_sysman(const LevelZero& ze);

// A device in Sysman, which has handles for cards.
struct ManagedDevice {
  zes_device_handle_t handle = nullptr;  // handle of the card; null: Sysman does not have the device
  ze_driver_handle_t driver = nullptr;   // driver of the handle
  std::vector<std::uint32_t>
      tiles{};  // tiles of the device; empty: all components of the handle belong to the device

  // Returns whether a component of the card belongs to the device. A component that is not on a tile belongs
  // to each tile.
  template <typename Properties>
  bool has(const Properties& component) const {
    return component.onSubdevice == 0 || tiles.empty() ||
           std::ranges::find(tiles, component.subdeviceId) != tiles.end();
  }
};

// Sysman of this process. Use it after zeInit.
class Sysman {
 public:
  explicit Sysman(LevelZero ze) : ze_(std::move(ze)) {}

  // Finds a device. The first call for a device searches it, and later calls return the same result. `card`
  // is the device that contains a sub-device. The search queries the driver by UUID, or the device itself.
  const ManagedDevice& find(ze_driver_handle_t driver, ze_device_handle_t device,
                            ze_device_handle_t card = nullptr);

 private:
  struct Functions {
    ze_result_t (*init)(std::uint32_t flags) = nullptr;
    ze_result_t (*driver_get)(std::uint32_t*, zes_driver_handle_t*) = nullptr;
    ze_result_t (*device_get)(zes_driver_handle_t, std::uint32_t*, zes_device_handle_t*) = nullptr;
    decltype(&::zesDeviceGetProperties) properties = nullptr;
    ze_result_t (*by_uuid)(zes_driver_handle_t, ze_device_uuid_t, zes_device_handle_t*, ze_bool_t*,
                           std::uint32_t*) = nullptr;  // may be missing: Level Zero 1.12
  };

  template <typename Find>
  void start(const Find& find);
  ManagedDevice search(ze_driver_handle_t driver, ze_device_handle_t device, ze_device_handle_t card);
  ManagedDevice twin(ze_device_handle_t device, ze_device_handle_t card) const;
  ManagedDevice named(const ze_device_uuid_t& uuid) const;
  ManagedDevice listed(const ze_device_uuid_t& uuid) const;
  std::vector<std::uint32_t> tiles_of(ze_device_handle_t device) const;
  bool accepts(zes_device_handle_t core_handle) const;
  bool passes_handles_on() const;

  LevelZero ze_;
  Functions functions_;
  std::vector<zes_driver_handle_t> drivers_;  // drivers of zesInit; empty: zesInit is missing or failed
  bool started_ = false, started_driver_ = false;
  std::map<ze_device_handle_t, ManagedDevice> found_;
  std::mutex mutex_;
};

// Functions of a driver that its loader is too old to export. A driver fills tables of functions for loaders,
// and tables only grow at their end. Source: oneapi-src/level-zero, include/zes_ddi.h.

// The name of such a function in a loader, and the driver's table and slot that contain it.
struct Place {
  const char* name;
  const char* table;
  std::size_t slot;
};

inline constexpr Place kZesInit = {"zesInit", "zesGetGlobalProcAddrTable", 0};
inline constexpr Place kZesDriverGet = {"zesDriverGet", "zesGetDriverProcAddrTable", 2};
inline constexpr Place kZesDeviceGet = {"zesDeviceGet", "zesGetDeviceProcAddrTable", 29};
inline constexpr Place kZesDeviceGetProperties = {"zesDeviceGetProperties", "zesGetDeviceProcAddrTable", 0};
inline constexpr Place kZesDriverGetDeviceByUuid = {"zesDriverGetDeviceByUuidExp",
                                                    "zesGetDriverExpProcAddrTable", 0};

// Returns the first library of this process that has the tables of a driver with zesInit, or null. A loader
// loads drivers in zeInit, and unloads those without a device.
void* sysman_driver();

// Returns null if the driver lacks the function. The returned handles belong to the driver. A loader that
// wraps handles refuses them.
void* function_of_driver(void* driver, const Place& place);

}  // namespace proctor::xpu
