// What the probes say (suites/probe/main_xpu.cc, main_cuda.cc) as an inventory.
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/json.h"
#include "harness/devices/cuda_versions.h"
#include "harness/devices/inventory.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::uint32_t kNvidia = 0x10de;  // PCI vendor
constexpr const char* kTooOld = "driver_too_old";

void add_stack(Inventory& inventory, std::string key, std::string value) {
  if (!value.empty()) inventory.stack.emplace_back(std::move(key), std::move(value));
}

// ---- Level Zero ----

Device parse_xpu_device(const json& entry, int ordinal) {
  Device device;
  device.backend = "xpu";
  device.name = entry.value("name", "");
  device.type = entry.value("type", "");
  device.uuid = entry.value("uuid", "");
  device.pci = entry.value("pci", "");
  device.ordinal = ordinal;
  device.vendor_id = entry.value("vendor_id", 0U);
  device.device_id = entry.value("device_id", 0U);
  for (const json& tile : entry.value("sub_devices", json::array()))
    device.tile_uuids.push_back(tile.value("uuid", ""));
  device.tiles = std::max(1, static_cast<int>(device.tile_uuids.size()));
  device.memory_bytes = entry.value("memory_bytes", std::uint64_t{0});
  device.integrated = entry.value("integrated", false);
  device.id = "xpu:" + (device.pci.empty() ? device.uuid : device.pci);
  return device;
}

// A second driver (an NPU's, say) is "xpu.driver.1".
void add_driver(Inventory& inventory, const json& driver, std::size_t index) {
  const std::string suffix = index == 0 ? "" : fmt::format(".{}", index);
  const std::string release = driver.value("release", "");
  add_stack(inventory, "xpu.driver" + suffix, release.empty() ? driver.value("version", "") : release);
  add_stack(inventory, "xpu.api" + suffix, driver.value("api", ""));
  for (const json& entry : driver.value("devices", json::array())) {
    if (const auto problem = entry.value("problem", ""); !problem.empty()) {
      inventory.problem = problem;
      inventory.detail = "the driver lists a device that it cannot describe";
      continue;
    }
    inventory.devices.push_back(parse_xpu_device(entry, static_cast<int>(inventory.devices.size())));
  }
}

void parse_xpu(const json& document, Inventory& inventory) {
  inventory.missing_symbols = document.value("missing_symbols", std::vector<std::string>{});
  add_stack(inventory, "xpu.loader", document.value("loader", json::object()).value("version", ""));
  const json drivers = document.value("drivers", json::array());
  for (std::size_t i = 0; i < drivers.size(); ++i) add_driver(inventory, drivers[i], i);
  if (!drivers.empty()) inventory.driver_file = drivers.front().value("library", "");
}

// ---- CUDA ----

Device parse_cuda_device(const json& entry) {
  Device device;
  device.backend = "cuda";
  device.name = entry.value("name", "");
  device.type = "gpu";
  device.uuid = entry.value("uuid", "");
  device.pci = entry.value("pci", "");
  device.ordinal = entry.value("ordinal", -1);
  device.capability = entry.value("capability", "");
  device.vendor_id = kNvidia;
  device.device_id = entry.value("device_id", 0U);
  device.memory_bytes = entry.value("memory_bytes", std::uint64_t{0});
  device.integrated = entry.value("integrated", false);
  device.id = "cuda:" + device.uuid;
  return device;
}

// Names the versions that do not fit; what the libraries let pass is too old all the same when the table of
// releases says so.
void judge_versions(int runtime, int cuda, const std::string& driver, Inventory& inventory) {
  const CudaRelation relation = cuda_relation(runtime, driver, cuda);
  if (relation != CudaRelation::kUnknown)
    add_stack(inventory, "cuda.compatibility", std::string(to_string(relation)));
  const bool refused = inventory.problem == kTooOld || inventory.runtime_problem == kTooOld;
  if (!refused && (relation != CudaRelation::kTooOld || !inventory.problem.empty())) return;
  const std::string reason =
      fmt::format("{}:{}<{}", kTooOld, cuda_version_text(cuda), cuda_version_text(runtime));
  const std::string words = needed_cuda_driver(runtime, driver, cuda);
  if (inventory.problem == kTooOld) {
    inventory.problem = reason;
    inventory.detail = words;
  } else {
    inventory.runtime_problem = reason;
    inventory.runtime_detail = words;
  }
}

void parse_cuda(const json& document, Inventory& inventory) {
  const json runtime = document.value("runtime", json::object());
  const std::string driver = document.value("driver", "");
  const int cuda = document.value("cuda", 0);
  const int version = runtime.value("version", 0);
  if (inventory.problem.empty()) {
    inventory.runtime_problem = runtime.value("problem", "");
    inventory.runtime_detail = runtime.value("detail", "");
  }
  inventory.cuda_runtime = version;
  inventory.cuda_driver = cuda;
  inventory.driver_file = document.value("library", "");
  add_stack(inventory, "cuda.driver", driver);
  if (cuda > 0) add_stack(inventory, "cuda.api", cuda_version_text(cuda));
  if (version > 0) add_stack(inventory, "cuda.runtime", cuda_version_text(version));
  for (const json& entry : document.value("devices", json::array()))
    inventory.devices.push_back(parse_cuda_device(entry));
  if (cuda > 0 || !driver.empty()) judge_versions(version, cuda, driver, inventory);
}

}  // namespace

Result<Inventory> parse_probe(Backend backend, std::string_view text) {
  const json document = parse_json(text);
  if (!document.is_object() || !document.contains("v") || document["v"] != 1) {
    return Error::internal("read the probe's answer: not a document of version 1");
  }
  try {  // a wrong type somewhere inside; the edge of the JSON library
    Inventory inventory;
    inventory.problem = document.value("problem", "");
    inventory.detail = document.value("detail", "");
    inventory.stand_in = document.value("stand_in", "");
    backend == Backend::kCuda ? parse_cuda(document, inventory) : parse_xpu(document, inventory);
    if (inventory.driver_file.empty()) inventory.driver_file = inventory.stand_in;
    for (Device& device : inventory.devices) device.simulated = !inventory.stand_in.empty();
    return inventory;
  } catch (const json::exception& error) {
    return Error::internal(fmt::format("read the probe's answer: {}", error.what()));
  }
}

}  // namespace proctor
