// Functions that a driver has and its loader is too old to export. A driver fills tables of its functions for loaders, and
// tables only grow at their end. Source: oneapi-src/level-zero, include/zes_ddi.h.
#pragma once

#include <cstddef>

namespace proctor::xpu {

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
