// What one process sees through Level Zero: the record that a child writes and that checks compare.
#pragma once

#include <cstdint>
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

}  // namespace proctor::visibility
