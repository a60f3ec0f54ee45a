// Which vendor's devices a suite uses, how a vendor is named, and how a device is told from another.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

enum class Backend { kCuda, kXpu, kNone };
std::string_view to_string(Backend backend);
std::optional<Backend> parse_backend(std::string_view text);
// What to write instead of a word that is no backend.
std::string backend_hint(std::string_view word);

// ---- Identity ----
// Whether a device that a process sees is one that it has leased, by what the device says of itself.
// Drivers spell the same device in different ways.

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

// ---- Memory in use ----
// The kernel's drivers of Intel devices tell how much memory is in use to CAP_PERFMON and CAP_SYS_ADMIN
// only, and say "nothing" to all others (drm_xe_mem_region::used,
// drm_i915_memory_region_info::unallocated_size). They ask for the capability in the first user namespace:
// in another one a process has it in vain.

// From /proc/PID/status and /proc/PID/uid_map. What cannot be read has no capability.
bool may_see_memory_use(const std::string& status, const std::string& uid_map);
bool this_process_may_see_memory_use();

}  // namespace proctor
