// Tests of the record of devices: writing, reading, comparing.
#include "suites/visibility/enumeration.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace proctor::visibility {
namespace {

Enumeration sample() {
  Enumeration seen;
  seen.init = "ZE_RESULT_SUCCESS";
  seen.api = "1.3";
  seen.driver_version = 17;
  seen.drivers = 1;
  DeviceRecord device;
  device.name = "card";
  device.uuid = "aa";
  device.pci = "0000:03:00.0";
  device.memory_bytes = 1 << 30;
  device.execution_units = 64;
  device.is_sub_device = true;
  device.root = "bb";
  device.sub_ids = {0, 2};
  seen.devices = {device, device};
  seen.devices[1].pci = "0000:04:00.0";
  return seen;
}

TEST(Enumeration, SurvivesJsonRoundTrip) { EXPECT_EQ(parse_enumeration(to_json(sample())), sample()); }

TEST(Enumeration, ComparesEveryFieldOfDevice) {
  // A record that lost a member would compare equal and hide a defect.
  const nlohmann::json whole = to_json(sample());
  for (const auto& [key, value] : whole.at("devices").at(0).items()) {
    auto changed = whole;
    auto& field = changed["devices"][0][key];
    if (value.is_string()) {
      field = value.get<std::string>() + "!";
    } else if (value.is_boolean()) {
      field = !value.get<bool>();
    } else if (value.is_array()) {
      field = {7};
    } else {
      field = value.get<int>() + 1;
    }
    EXPECT_NE(parse_enumeration(changed), sample()) << key;
    changed["devices"][0].erase(key);
    EXPECT_EQ(parse_enumeration(changed), std::nullopt) << key;
  }
}

TEST(Enumeration, RejectsInvalidDocuments) {
  for (const char* text : {"null", "[]", "{}", R"({"init":7})"}) {
    EXPECT_EQ(parse_enumeration(nlohmann::json::parse(text)), std::nullopt) << text;
  }
}

TEST(Enumeration, PciIdentityNeedsEveryAddress) {
  auto seen = sample();
  EXPECT_TRUE(has_pci_identity(seen));
  EXPECT_EQ(identities(seen, IdentityKind::kPci), (std::vector<std::string>{"0000:03:00.0", "0000:04:00.0"}));
  seen.devices[1].pci.clear();
  EXPECT_FALSE(has_pci_identity(seen));
  EXPECT_FALSE(has_pci_identity(Enumeration{}));
}

}  // namespace
}  // namespace proctor::visibility
