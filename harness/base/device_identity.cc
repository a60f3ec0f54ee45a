#include "harness/base/device_identity.h"

#include <algorithm>
#include <string_view>

#include "harness/base/words.h"

namespace proctor {
namespace {

// "GPU-8932F937-d72c-..." and "8932f937d72c..." are one.
std::string uuid_digits(std::string_view uuid) {
  for (const std::string_view prefix : {"GPU-", "MIG-"}) {
    if (uuid.starts_with(prefix)) uuid.remove_prefix(prefix.size());
  }
  std::string digits = lower_case(uuid);
  std::erase(digits, '-');
  return digits;
}

}  // namespace

bool is_part_of_card(const DeviceIdentity& device) { return device.uuid.starts_with("MIG-"); }

bool has_same_uuid(const DeviceIdentity& one, const DeviceIdentity& other) {
  return !one.uuid.empty() && uuid_digits(one.uuid) == uuid_digits(other.uuid);
}

bool is_same_device(const DeviceIdentity& one, const DeviceIdentity& other) {
  return has_same_uuid(one, other) || (!one.pci.empty() && lower_case(one.pci) == lower_case(other.pci));
}

bool sees_what_is_leased(const std::vector<DeviceIdentity>& leased, const std::vector<DeviceIdentity>& seen) {
  const auto is_seen = [&](const DeviceIdentity& device) {
    return std::ranges::any_of(seen, [&](const DeviceIdentity& one) { return is_same_device(device, one); });
  };
  const auto is_leased = [&](const DeviceIdentity& one) {
    return std::ranges::any_of(leased,
                               [&](const DeviceIdentity& device) { return is_same_device(device, one); });
  };
  return std::ranges::all_of(leased, is_seen) && std::ranges::all_of(seen, is_leased);
}

}  // namespace proctor
