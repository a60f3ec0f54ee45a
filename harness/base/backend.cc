#include "harness/base/backend.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {

std::string_view to_string(Backend backend) {
  switch (backend) {
    case Backend::kCuda:
      return "cuda";
    case Backend::kXpu:
      return "xpu";
    case Backend::kNone:
      return "none";
  }
  return "?";
}

std::optional<Backend> parse_backend(std::string_view text) {
  for (Backend backend : {Backend::kCuda, Backend::kXpu, Backend::kNone}) {
    if (to_string(backend) == text) return backend;
  }
  return std::nullopt;
}

std::string backend_hint(std::string_view word) {
  const std::string vendors = "NVIDIA devices are `cuda`, Intel devices `xpu`, and `none` uses no device.";
  // "gpu" differs from "xpu" in one letter, but can mean either vendor.
  const std::string near = word == "gpu" ? "" : did_you_mean(word, {"cuda", "xpu", "none"});
  return near.empty() ? vendors : near + " " + vendors;
}

namespace {

// Returns the hexadecimal digits: "GPU-8932F937-d72c-..." and "8932f937d72c..." are the same UUID.
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

namespace {

constexpr unsigned kSysAdmin = 21, kPerfmon = 38;  // linux/capability.h

bool is_first_namespace(const std::string& uid_map) {
  std::istringstream words(uid_map);
  std::uint64_t inside = 1, outside = 1, count = 0;
  return words >> inside >> outside >> count && inside == 0 && outside == 0 && count == 0xffff'ffff;
}

}  // namespace

bool may_see_memory_use(const std::string& status, const std::string& uid_map) {
  constexpr const char* kName = "CapEff:";
  const auto at = status.find(kName);
  if (at == std::string::npos || !is_first_namespace(uid_map)) return false;
  const std::uint64_t held =
      std::strtoull(status.c_str() + at + std::char_traits<char>::length(kName), nullptr, 16);
  return (held >> kSysAdmin & 1) != 0 || (held >> kPerfmon & 1) != 0;
}

bool this_process_may_see_memory_use() {
  return may_see_memory_use(read_file_or_empty("/proc/self/status"),
                            read_file_or_empty("/proc/self/uid_map"));
}

}  // namespace proctor
