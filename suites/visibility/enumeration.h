// What one process sees through Level Zero: the record that a child writes and that checks compare.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace proctor::visibility {

struct DeviceRecord {
  std::string name;
  std::string uuid;
  std::string pci;  // "" when the driver does not tell
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t execution_units = 0;   // slices * subslices * EUs
  bool is_sub_device = false;          // ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
  std::uint32_t sub_id = 0;            // subdeviceId
  int driver = 0;                      // index of the driver that lists it
  std::string root;                    // uuid of its root; "" when it has none
  std::vector<std::uint32_t> sub_ids;  // subdeviceId of each sub-device, in the driver's order

  friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

struct Enumeration {
  std::string init;  // result of zeInit: "ZE_RESULT_SUCCESS"
  std::string api;   // of the first driver: "1.3"
  std::uint32_t driver_version = 0;
  int drivers = 0;
  std::vector<DeviceRecord> devices;  // of all drivers, in their order

  friend bool operator==(const Enumeration&, const Enumeration&) = default;
};

nlohmann::json to_json(const Enumeration& enumeration);
// None when the text is no such record.
std::optional<Enumeration> parse_enumeration(const nlohmann::json& document);

// What tells two devices apart and recognises the same device in two processes: the PCI address if there is
// one, else the UUID if it does not change with the mask. kNone means that nothing does, as in Intel's
// no-hardware mode.
enum class IdentityKind { kNone, kPci, kUuid };
std::string identity(const DeviceRecord& device, IdentityKind kind);
std::vector<std::string> identities(const Enumeration& enumeration, IdentityKind kind);

// Whether every device has a PCI address of its own.
bool has_pci_identity(const Enumeration& enumeration);

// Which card a failure is about. Each check of this suite sees all cards of the machine, so that every attempt fails when
// one of them is wrong. The trials (suites/main/check.h) name the card or the cards concerned.

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
