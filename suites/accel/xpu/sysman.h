// Devices in the management interface of Level Zero (Sysman). There are two ways in:
//
//   zesInit        since Level Zero 1.5. It has handles of its own, and no mask hides a card. The twin of a device is the one
//                  with its UUID.
//   a core handle  With ZES_ENABLE_SYSMAN=1 in the environment of zeInit, the handle of a device is its management handle,
//                  too. Deprecated. Intel's driver has this way for the kernel driver i915 only: with the kernel driver xe
//                  each such call returns ZE_RESULT_ERROR_UNINITIALIZED.
//
// A process uses one of them (Sysman Programming Guide: "Avoid using both"). Intel's driver has one switch for all zes* calls:
// after a zeInit with the variable, it refuses zesInit on most products, or reads the handles of zesInit as core handles.
// The order is:
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
// Sources: Level Zero specification, zesInit; intel/compute-runtime, zes_sysman_api_entrypoints.h (dispatchSysmanApi) and
// sysman/source/shared/linux/zes_os_sysman_imp.cpp (isZesInitSupported).
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

// Before zeInit.
void prepare_sysman(const LevelZero& ze);

// A device in the management interface, which has handles of cards.
struct ManagedDevice {
  zes_device_handle_t handle = nullptr;  // of its card; null: the interface does not have it
  ze_driver_handle_t driver = nullptr;   // to which the handle belongs
  std::vector<std::uint32_t>
      tiles{};  // of which the device consists; empty: all that the handle lists is the device's

  // True if a component of the card is one of the device. A component that is on no tile is one of each tile.
  template <typename Properties>
  bool has(const Properties& component) const {
    return component.onSubdevice == 0 || tiles.empty() ||
           std::ranges::find(tiles, component.subdeviceId) != tiles.end();
  }
};

// The management interface of this process. After zeInit.
class Sysman {
 public:
  explicit Sysman(LevelZero ze) : ze_(std::move(ze)) {}

  // The first call for a device searches it, and later calls return the same. `card` is the device that contains a sub-device.
  // The search queries the driver by UUID, or the device itself.
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
  std::vector<zes_driver_handle_t> drivers_;  // of zesInit; empty: it is not there, or failed
  bool started_ = false, started_driver_ = false;
  std::map<ze_device_handle_t, ManagedDevice> found_;
  std::mutex mutex_;
};

// Functions that a driver has and its loader is too old to export. A driver fills tables of its functions for loaders, and
// tables only grow at their end. Source: oneapi-src/level-zero, include/zes_ddi.h.

// The name of a function in a loader, and the table and the slot in which a driver gives it to one.
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

// The first library of this process that has the tables of a driver with zesInit, or null. A loader loads drivers in zeInit,
// and unloads those without a device.
void* sysman_driver();

// Null if the driver lacks the function. The handles that it returns are the driver's own. A loader that wraps handles refuses
// them.
void* function_of_driver(void* driver, const Place& place);

}  // namespace proctor::xpu
