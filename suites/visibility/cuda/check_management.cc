// NVML's view of the same devices: physical, in PCI order, whatever CUDA's variables say.
#include <algorithm>

#include "suites/main/check.h"
#include "suites/visibility/cuda/pool.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;
using suite::expect_same;
using suite::kGate;
using suite::step;

constexpr const char* kNvml = "NVIDIA NVML API Reference Guide, Device Queries";

// Of the pool's devices, in NVML's order; what is hidden from the run is counted, not told.
struct Managed {
  std::vector<std::string> uuids;
  std::size_t all = 0;
  json devices = json::array();
};

Managed managed_under(const Variables& variables, const Pool& pool) {
  Managed managed;
  const auto devices = query_child({"management"}, variables).at("devices");
  for (const auto& device : devices) {
    ++managed.all;
    const std::string uuid = device.at("uuid");
    const bool listed = std::ranges::find(pool.names.pool, uuid) != pool.names.pool.end();
    managed.uuids.push_back(listed ? uuid : "another");
    if (listed) managed.devices.push_back(device);
  }
  return managed;
}

}  // namespace

PROCTOR_CHECK(Management, IgnoresTheMask, "V23", kNvml, kGate, .faults = {"sysman.masked_by_affinity"}) {
  const auto pool = pool_of();
  const auto whole = managed_under({}, pool);
  for (const auto& mask : {pool.uuid(0), std::string("-1"), std::string()}) {
    step("given the mask '" + mask + "'");
    expect_same("NVML's devices under mask '" + mask + "'", joined(whole.uuids),
                joined(managed_under({{kMask, mask}}, pool).uuids));
  }
}

PROCTOR_CHECK(Management, IgnoresTheOrderVariable, "V23", kNvml, kGate, .faults = {"sysman.order"}) {
  const auto pool = pool_of(2);
  const auto whole = managed_under({}, pool);
  for (const char* order : {kByBus, "FASTEST_FIRST"}) {
    step(std::string("given CUDA_DEVICE_ORDER=") + order);
    expect_same(std::string("NVML's devices under ") + order, joined(whole.uuids),
                joined(managed_under({{kOrder, order}}, pool).uuids));
  }
}

PROCTOR_CHECK(Management, ListsInPciOrder, "V18", kNvml, kGate,
              .faults = {"sysman.wrong_pci_address:dev=0"}) {
  const auto pool = pool_of(2);
  step("given NVML's list");
  std::vector<std::string> addresses;
  for (const auto& device : managed_under({}, pool).devices) addresses.push_back(device.at("pci"));
  std::vector<std::string> expected;
  for (const auto& device : pool.devices) expected.push_back(device.pci);
  expect_same("PCI addresses in NVML's order", joined(expected), joined(addresses));
}

PROCTOR_CHECK(Management, EveryDeviceHasOneTwin, "V24", kNvml, kGate, .faults = {"sysman.wrong_uuid"}) {
  const auto pool = pool_of();
  step("given the devices of both interfaces");
  const auto managed = managed_under({}, pool);
  for (const auto& device : pool.devices) {
    expect_same("how often NVML lists " + device.uuid, "1",
                std::to_string(std::ranges::count(managed.uuids, device.uuid)));
  }
  expect_same("how many devices NVML lists", std::to_string(pool.names.machine.size()),
              std::to_string(managed.all));
}

PROCTOR_CHECK(Management, KnowsTheSize, "V24", kNvml, kGate, .faults = {"sysman.size_lie"}) {
  const auto pool = pool_of();
  step("given the memory of each device by both interfaces");
  for (const auto& device : managed_under({}, pool).devices) {
    const std::string uuid = device.at("uuid");
    const auto twin = std::ranges::find(pool.devices, uuid, &DeviceRecord::uuid);
    suite::expect_true(device.at("memory").get<std::uint64_t>() >= twin->memory_bytes,
                       "NVML shows at least the memory that CUDA can give of " + twin->uuid);
  }
}

}  // namespace proctor::visibility
