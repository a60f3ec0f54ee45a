// Checks of NVML's list of devices: physical devices, in PCI order, independent of the variables of CUDA.
#include <algorithm>
#include <filesystem>
#include <set>

#include "suites/main/check.h"
#include "suites/visibility/cuda/pool.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;
using suite::expect_same;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kNvmlOfPyTorch = "PyTorch, torch/cuda/__init__.py _device_count_nvml";
constexpr const char* kNvml = "NVML API Reference Guide, Device Queries";

// The devices of NVML, in its order. Devices outside of the pool are counted but not named.
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

PROCTOR_CHECK(Nvml, ListIgnoresMask, "V23", kNvmlOfPyTorch, kGate, .faults = {"sysman.masked_by_affinity"}) {
  const auto pool = pool_of();
  const auto whole = managed_under({}, pool);
  for (const auto& mask : {pool.uuid(0), std::string("-1"), std::string()}) {
    step("given the mask '" + mask + "'");
    expect_same("NVML's devices under mask '" + mask + "'", joined(whole.uuids),
                joined(managed_under({{kMask, mask}}, pool).uuids));
  }
}

PROCTOR_CHECK(Nvml, ListIgnoresDeviceOrder, "V23", kNvmlOfPyTorch, kWarn,
              .faults = {"sysman.reverse_device_order"}) {
  const auto pool = pool_of(2);
  const auto whole = managed_under({}, pool);
  for (const char* order : {kByBus, "FASTEST_FIRST"}) {
    step(std::string("given CUDA_DEVICE_ORDER=") + order);
    expect_same(std::string("NVML's devices under ") + order, joined(whole.uuids),
                joined(managed_under({{kOrder, order}}, pool).uuids));
  }
}

// The NVML reference does not specify an order.
PROCTOR_CHECK(Nvml, ListIsInPciOrder, "V18", kNvml, kWarn, .faults = {"sysman.wrong_pci_address:dev=0"}) {
  const auto pool = pool_of(2);
  step("given NVML's list");
  std::vector<std::string> addresses;
  for (const auto& device : managed_under({}, pool).devices) addresses.push_back(device.at("pci"));
  std::vector<std::string> expected;
  for (const auto& device : pool.devices) expected.push_back(device.pci);
  expect_same("PCI addresses in NVML's order", joined(expected), joined(addresses));
}

PROCTOR_CHECK(Nvml, EachDeviceIsListedOnce, "V24", kNvml, kGate, .faults = {"sysman.wrong_uuid"}) {
  const auto pool = pool_of();
  step("given the devices of both interfaces");
  const auto managed = managed_under({}, pool);
  for (const auto& device : pool.devices) {
    const auto listed = std::ranges::count(managed.uuids, device.uuid);
    expect_same_of(device, "how often NVML lists " + device.uuid, "1", std::to_string(listed));
  }
}

PROCTOR_CHECK(Nvml, OnlyFullUuidFindsDevice, "V52",
              "NVML API Reference Guide, nvmlDeviceGetHandleByUUID: NVML_ERROR_NOT_FOUND", kGate,
              .faults = {"sysman.accept_uuid_prefix", "sysman.wrong_uuid"}) {
  const auto pool = pool_of();
  step("given each device's name, and names that are cut, too long or misspelt");
  const auto names = query_child({"management-names", pool.mask()}, {}).at("names");
  for (const auto& each : names) {
    expect_same("the device of the name '" + each.at("name").get<std::string>() + "'",
                each.at("meant").get<std::string>(), each.at("uuid").get<std::string>());
    // This code counts as a refusal, too.
    const bool invalid = each.at("result") == 2 && !suite::on_simgpu();
    if (each.at("meant") == "" && !invalid) expect_same("the answer", "6", each.at("result").dump());
  }
}

// /dev/nvidiaN is the device file of the card. A container is given this file.
PROCTOR_CHECK(Nvml, EachCardHasOwnMinorNumber, "V53",
              "NVML API Reference Guide, nvmlDeviceGetMinorNumber: /dev/nvidia[minor number]", kGate,
              .faults = {"sysman.repeat_minor_number"}) {
  const auto pool = pool_of(2);
  step("given the minor number of each card");
  std::set<int> seen;
  for (const auto& device : managed_under({}, pool).devices) {
    const int minor = device.at("minor");
    if (minor < 0) suite::skip("unsupported:nvml_minor_number");
    suite::expect_true(seen.insert(minor).second,
                       "no other card has the minor number " + std::to_string(minor));
    const std::string file = "/dev/nvidia" + std::to_string(minor);
    if (!suite::on_simgpu()) suite::expect_true(std::filesystem::exists(file), file + " is there");
  }
}

PROCTOR_CHECK(Nvml, MemoryIsAtLeastCudaMemory, "V24", kNvml, kGate,
              .faults = {"sysman.understate_memory_size"}) {
  const auto pool = pool_of();
  step("given the memory of each device by both interfaces");
  for (const auto& device : managed_under({}, pool).devices) {
    const std::string uuid = device.at("uuid");
    if (device.at("memory").is_null()) suite::skip("unsupported:nvml_memory");
    const auto twin = std::ranges::find(pool.devices, uuid, &DeviceRecord::uuid);
    suite::expect_true(device.at("memory").get<std::uint64_t>() >= twin->memory_bytes,
                       "NVML shows at least the memory that CUDA can give of " + twin->uuid);
  }
}

}  // namespace proctor::visibility
