// Which card a failure is about. Each check of this suite sees all cards of the machine, so that every attempt fails when
// one of them is wrong. The trials (suites/main/check.h) name the card or the cards concerned.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "suites/visibility/enumeration.h"

namespace proctor::visibility {

// As accel::describe(): the text by which a reader of a report finds the device.
std::string describe(const DeviceRecord& device);

// As suite::expect_same(), about this device alone.
void expect_same_of(const DeviceRecord& device, const std::string& what, const std::string& expected,
                    const std::string& got, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// What the management interface says: PCI address -> UUID. It is empty where that interface cannot be asked.
using ManagedUuids = std::map<std::string, std::string>;
ManagedUuids managed_uuids(const nlohmann::json& devices);

// Records for each two devices whether their UUIDs differ. If they do not, and the management interface contradicts one
// of the two, the trial is about that one alone. `managed` is called only then.
void try_uuids(const std::vector<DeviceRecord>& devices, const std::function<ManagedUuids()>& managed);

}  // namespace proctor::visibility
