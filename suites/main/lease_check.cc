#include "suites/main/lease_check.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "suites/main/skipped.h"

namespace proctor::suite {
namespace {

std::string to_text(const std::vector<Identity>& devices) {
  std::string text;
  for (const Identity& device : devices) {
    if (!text.empty()) text += ", ";
    text += device.pci.empty() ? device.uuid : device.pci;
    if (!device.pci.empty() && !device.uuid.empty()) text += " (" + device.uuid + ")";
  }
  return text.empty() ? "none" : text;
}

// Compares names only, because the parts of a card share one address.
bool has_one_of(const std::vector<Identity>& others, const std::vector<Identity>& seen) {
  return std::ranges::any_of(seen, [&](const Identity& device) {
    return std::ranges::any_of(others, [&](const Identity& other) { return has_same_uuid(device, other); });
  });
}

std::vector<Identity> left_of(std::vector<Identity> pool, const std::vector<Identity>& leased) {
  std::erase_if(pool, [&](const Identity& device) {
    return std::ranges::any_of(leased, [&](const Identity& one) { return one.uuid == device.uuid; });
  });
  return pool;
}

// The visible devices. A driver without devices returns an error. For a leased process this means that the device
// is hidden.
std::vector<Identity> ask(const VisibleDevices& visible, bool with_uuid) {
  try {
    return visible(with_uuid);
  } catch (const Skipped& skipped) {
    if (skipped.reason() != "no_device") throw;
    return {};
  }
}

std::vector<Identity> read_devices(std::string_view text) {
  const auto devices = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<Identity> leased;
  if (!devices.is_array()) return leased;
  for (const auto& device : devices) {
    if (device.is_object()) leased.push_back({device.value("uuid", ""), device.value("pci", "")});
  }
  return leased;
}

}  // namespace

std::string difference_from_lease(std::string_view lease, std::string_view pool,
                                  const VisibleDevices& visible) {
  const std::vector<Identity> leased = read_devices(lease);
  const std::vector<Identity> others = left_of(read_devices(pool), leased);
  const auto is_nameless = [](const Identity& device) { return device.uuid.empty() && device.pci.empty(); };
  if (leased.empty() || std::ranges::any_of(leased, is_nameless)) return {};
  const bool parts = std::ranges::any_of(leased, is_part_of_card);  // the parts of a card share one address
  std::vector<Identity> seen = ask(visible, parts);
  if (sees_what_is_leased(leased, seen) && !has_one_of(others, seen)) return {};
  if (!parts) seen = ask(visible, true);  // The address can be wrong although the device is right.
  if (sees_what_is_leased(leased, seen) && !has_one_of(others, seen)) return {};
  return "this process sees " + to_text(seen) + ", and has leased " + to_text(leased);
}

}  // namespace proctor::suite
