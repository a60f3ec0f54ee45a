// The names of the device vendors that a suite can use, and the comparison of device identities.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

enum class Backend { kCuda, kXpu, kNone };
std::string_view to_string(Backend backend);
std::optional<Backend> parse_backend(std::string_view text);
// Returns the hint of an error about a word that is not a backend.
std::string backend_hint(std::string_view word);

// ---- Identity ---- These functions compare the devices that a process sees with the devices that it has
// leased. They use the identity that the driver reports. Drivers spell the UUID of the same device in
// different ways.

// The identity that a driver reports for a device. A member is "" if the driver does not report it.
struct DeviceIdentity {
  std::string uuid;  // "8932f937-d72c-...", also with the prefix "GPU-" or "MIG-"
  std::string pci;
};

// Returns whether the device is a MIG instance of an NVIDIA card. It has a UUID of its own and the PCI
// address of the card.
bool is_part_of_card(const DeviceIdentity& device);

// Returns whether both devices have a UUID and the UUIDs are equal.
bool has_same_uuid(const DeviceIdentity& one, const DeviceIdentity& other);
// Returns whether the UUIDs or the PCI addresses are equal. A tile has the address of its card. A driver can
// also report a wrong address for the right device. All MIG instances of one card are the same device in this
// comparison.
bool is_same_device(const DeviceIdentity& one, const DeviceIdentity& other);

// Returns whether the process sees each leased device and no other device.
bool sees_what_is_leased(const std::vector<DeviceIdentity>& leased, const std::vector<DeviceIdentity>& seen);

// ---- Memory in use ---- The kernel drivers of Intel devices report the memory in use only to processes with
// CAP_PERFMON or CAP_SYS_ADMIN. They report to all other processes that no memory is in use
// (drm_xe_mem_region::used, drm_i915_memory_region_info::unallocated_size). The drivers check the capability
// in the first user namespace. A capability in another user namespace has no effect.

// Parses /proc/PID/status and /proc/PID/uid_map. Returns false if a text is incomplete.
bool may_see_memory_use(const std::string& status, const std::string& uid_map);
bool this_process_may_see_memory_use();

}  // namespace proctor
