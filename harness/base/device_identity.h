// Whether a device that a process sees is one that it has leased, by what the device says of itself. Drivers spell the
// same device in different ways.
#pragma once

#include <string>
#include <vector>

namespace proctor {

// Who a device says that it is; "" where it does not say.
struct DeviceIdentity {
  std::string uuid;  // "8932f937-d72c-...", also with "GPU-" or "MIG-" in front
  std::string pci;
};

// A part of an NVIDIA card (MIG): it has a name of its own, and the address of its card.
bool is_part_of_card(const DeviceIdentity& device);

// Both have a UUID, and it is the same.
bool has_same_uuid(const DeviceIdentity& one, const DeviceIdentity& other);
// Either by the UUID or by the address: a tile has the address of its card, and an address may be wrong where the
// device is right. Parts of one card are the same by it.
bool is_same_device(const DeviceIdentity& one, const DeviceIdentity& other);

// Each leased device is seen, and nothing else.
bool sees_what_is_leased(const std::vector<DeviceIdentity>& leased, const std::vector<DeviceIdentity>& seen);

}  // namespace proctor
