// The record of the devices that one process sees, through Level Zero or CUDA. A child writes it and checks
// compare it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace proctor::visibility {

// One device as a process sees it. Level Zero and CUDA fill the same members.
struct DeviceRecord {
  std::string name;
  std::string uuid;
  std::string pci;  // "": the driver does not report it
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t execution_units = 0;   // slices * subslices * EUs
  bool is_sub_device = false;          // ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
  std::uint32_t sub_id = 0;            // subdeviceId
  int driver = 0;                      // index of the driver that lists the device
  std::string root;                    // UUID of its root device; "": it has none
  std::vector<std::uint32_t> sub_ids;  // subdeviceId of each sub-device, in the driver's order

  friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

// All devices that a process sees, with the result of the initialisation and the versions.
struct Enumeration {
  std::string init;  // result of zeInit: "ZE_RESULT_SUCCESS"
  std::string api;   // version of the first driver: "1.3"
  std::uint32_t driver_version = 0;
  int drivers = 0;
  std::vector<DeviceRecord> devices;  // of all drivers, in their order

  friend bool operator==(const Enumeration&, const Enumeration&) = default;
};

nlohmann::json to_json(const Enumeration& enumeration);
// Reads a record; nullopt: the document is not a record.
std::optional<Enumeration> parse_enumeration(const nlohmann::json& document);

// The identity by which devices are distinguished, and recognised in another process: the PCI address, or else the
// UUID if it does not depend on the mask. kNone: devices have neither, as in Intel's no-hardware mode.
enum class IdentityKind { kNone, kPci, kUuid };
std::string identity(const DeviceRecord& device, IdentityKind kind);
std::vector<std::string> identities(const Enumeration& enumeration, IdentityKind kind);

// True if every device has a different PCI address.
bool has_pci_identity(const Enumeration& enumeration);

// Functions that name the card at fault. Each check of this suite sees all cards of the machine, so one wrong card
// fails every attempt. The trials (suites/main/check.h) name the cards concerned.

// Describes the device in reports, in the same form as accel::describe().
std::string describe(const DeviceRecord& device);

// Like suite::expect_same(), for a value of this device alone.
void expect_same_of(const DeviceRecord& device, const std::string& what, const std::string& expected,
                    const std::string& got, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// The devices of the management interface: PCI address -> UUID. Empty if the interface is not available.
using ManagedUuids = std::map<std::string, std::string>;
ManagedUuids managed_uuids(const nlohmann::json& devices);

// Records a trial for each two devices: their UUIDs must differ. If they are equal and the management interface
// contradicts one of the two, the trial names only that device. `managed` is called only in this case.
void try_uuids(const std::vector<DeviceRecord>& devices, const std::function<ManagedUuids()>& managed);

}  // namespace proctor::visibility
