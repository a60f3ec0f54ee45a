#include "suites/visibility/enumeration.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "suites/main/check.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;

json device_to_json(const DeviceRecord& device) {
  return {{"name", device.name},
          {"uuid", device.uuid},
          {"pci", device.pci},
          {"vendor_id", device.vendor_id},
          {"device_id", device.device_id},
          {"memory_bytes", device.memory_bytes},
          {"execution_units", device.execution_units},
          {"is_sub_device", device.is_sub_device},
          {"sub_id", device.sub_id},
          {"driver", device.driver},
          {"root", device.root},
          {"sub_ids", device.sub_ids}};
}

DeviceRecord device_from_json(const json& entry) {
  DeviceRecord device;
  entry.at("name").get_to(device.name);
  entry.at("uuid").get_to(device.uuid);
  entry.at("pci").get_to(device.pci);
  entry.at("vendor_id").get_to(device.vendor_id);
  entry.at("device_id").get_to(device.device_id);
  entry.at("memory_bytes").get_to(device.memory_bytes);
  entry.at("execution_units").get_to(device.execution_units);
  entry.at("is_sub_device").get_to(device.is_sub_device);
  entry.at("sub_id").get_to(device.sub_id);
  entry.at("driver").get_to(device.driver);
  entry.at("root").get_to(device.root);
  entry.at("sub_ids").get_to(device.sub_ids);
  return device;
}

}  // namespace

json to_json(const Enumeration& enumeration) {
  json devices = json::array();
  for (const auto& device : enumeration.devices) devices.push_back(device_to_json(device));
  return {{"init", enumeration.init},
          {"api", enumeration.api},
          {"driver_version", enumeration.driver_version},
          {"drivers", enumeration.drivers},
          {"devices", std::move(devices)}};
}

std::optional<Enumeration> parse_enumeration(const json& document) {
  try {  // Missing keys and wrong types mean that the document is not a record.
    Enumeration enumeration;
    document.at("init").get_to(enumeration.init);
    document.at("api").get_to(enumeration.api);
    document.at("driver_version").get_to(enumeration.driver_version);
    document.at("drivers").get_to(enumeration.drivers);
    for (const json& entry : document.at("devices")) enumeration.devices.push_back(device_from_json(entry));
    return enumeration;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string identity(const DeviceRecord& device, IdentityKind kind) {
  switch (kind) {
    case IdentityKind::kPci:
      return device.pci;
    case IdentityKind::kUuid:
      return device.uuid;
    case IdentityKind::kNone:
      break;
  }
  return {};
}

std::vector<std::string> identities(const Enumeration& enumeration, IdentityKind kind) {
  std::vector<std::string> all;
  for (const auto& device : enumeration.devices) all.push_back(identity(device, kind));
  return all;
}

bool has_pci_identity(const Enumeration& enumeration) {
  const auto all = identities(enumeration, IdentityKind::kPci);
  return !all.empty() && std::find(all.begin(), all.end(), "") == all.end();
}

std::string describe(const DeviceRecord& device) {
  return device.name + " " + (device.pci.empty() ? device.uuid : device.pci);
}

void expect_same_of(const DeviceRecord& device, const std::string& what, const std::string& expected,
                    const std::string& got, const char* file, int line) {
  const bool ok = expected == got;
  // A wrong address or UUID can be that of another card. The text then names both cards, and neither alone is at
  // fault.
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
