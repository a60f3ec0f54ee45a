#include "suites/visibility/card_trials.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "suites/main/check.h"

namespace proctor::visibility {

std::string describe(const DeviceRecord& device) {
  return device.name + " " + (device.pci.empty() ? device.uuid : device.pci);
}

void expect_same_of(const DeviceRecord& device, const std::string& what, const std::string& expected,
                    const std::string& got, const char* file, int line) {
  const bool ok = expected == got;
  // A wrong address or UUID can be that of another card: the text then names both, and neither is suspected alone.
  const std::string named = device.pci + " " + device.uuid + " " + expected + " " + got;
  suite::trial({{"", device.name + " " + named}}, ok);
  if (!ok)
    suite::report({.message = what, .expected = expected, .got = got, .device = describe(device)}, file,
                  line);
}

ManagedUuids managed_uuids(const nlohmann::json& devices) {
  ManagedUuids uuids;
  for (const auto& device : devices) uuids.emplace(device.at("pci"), device.at("uuid"));
  return uuids;
}

void try_uuids(const std::vector<DeviceRecord>& devices, const std::function<ManagedUuids()>& managed) {
  std::optional<ManagedUuids> known;
  const auto is_contradicted = [&](const DeviceRecord& device) {
    if (!known) known = managed();
    const auto twin = known->find(device.pci);
    return twin != known->end() && twin->second != device.uuid;
  };
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      const auto &one = devices[i], &other = devices[j];
      std::vector<TrialDevice> concerned{{"", describe(one)}, {"", describe(other)}};
      const bool differ = one.uuid != other.uuid;
      if (!differ && is_contradicted(one) != is_contradicted(other))
        concerned.erase(concerned.begin() + (is_contradicted(one) ? 1 : 0));
      suite::trial(concerned, differ);
    }
  }
}

}  // namespace proctor::visibility
