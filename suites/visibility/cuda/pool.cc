#include "suites/visibility/cuda/pool.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "harness/journal/child_protocol.h"
#include "suites/main/check.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;

constexpr const char* kSuccess = "cudaSuccess";
constexpr const char* kNoDevice = "cudaErrorNoDevice";

using Identities = std::vector<std::pair<std::string, std::string>>;  // UUID and PCI address of each

// The devices in a variable such as PROCTOR_DEVICES; nullopt: the variable is not set.
std::optional<Identities> devices_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const json list = json::parse(text, nullptr, false);
  Identities devices;
  for (const auto& entry : list.is_array() ? list : json::array()) {
    if (entry.is_object()) devices.emplace_back(entry.value("uuid", ""), entry.value("pci", ""));
  }
  return devices;
}

// The reason for which devices cannot be enumerated; "": they can.
std::string problem_of(const Enumeration& seen) {
  if (seen.init == kNoDevice || (seen.init == kSuccess && seen.devices.empty())) return "no_device";
  if (seen.init == kSuccess) return "";
  if (seen.init == "cudaErrorInsufficientDriver")
    return seen.driver_version == 0 ? "no_driver" : "driver_too_old";
  return "init:" + seen.init;
}

Identities allowed_devices(const Enumeration& machine) {
  if (auto reported = devices_in(child::kPoolVariable)) return *std::move(reported);
  Enumeration seen = machine;
  if (const char* own = std::getenv(kMask)) {
    Variables variables{{kMask, own}};
    if (const char* order = std::getenv(kOrder)) variables.emplace_back(kOrder, order);
    seen = enumerate(variables);
  }
  Identities devices;
  for (const auto& device : seen.devices) devices.emplace_back(device.uuid, device.pci);
  return devices;
}

// A process sees at most one MIG instance, whatever its mask lists, and ordinals count whole GPUs.
void need_whole_gpus(const Identities& devices) {
  const bool parts =
      std::ranges::any_of(devices, [](const auto& device) { return device.first.starts_with("MIG-"); });
  if (parts) suite::skip("needs:whole_gpus");
}

// Compares the UUID and the PCI address. If the runtime reports one of them wrongly, the device still matches.
bool contains(const Identities& devices, const DeviceRecord& device) {
  return std::ranges::any_of(devices, [&](const auto& one) {
    return one.first == device.uuid || (!one.second.empty() && one.second == device.pci);
  });
}

}  // namespace

const ChildRules& child_rules() {
  static const ChildRules rules{.owned = {kMask, kOrder}, .defaults = {}};
  return rules;
}

std::string Pool::ordinal(std::size_t i) const { return std::to_string(names.ordinals[i]); }

std::string Pool::mask() const { return joined(names.pool, ","); }

std::string Pool::ordinal_mask() const {
  std::vector<std::string> ordinals;
  for (std::size_t i = 0; i < names.pool.size(); ++i) ordinals.push_back(ordinal(i));
  return joined(ordinals, ",");
}

Pool pool_of(std::size_t devices) {
  const auto machine = enumerate({{kOrder, kByBus}});
  if (const auto problem = problem_of(machine); !problem.empty()) suite::skip(problem);
  const auto allowed = allowed_devices(machine);
  need_whole_gpus(allowed);
  Pool pool;
  pool.names.machine = uuids(machine);
  for (std::size_t i = 0; i < machine.devices.size(); ++i) {
    const auto& device = machine.devices[i];
    if (!contains(allowed, device)) continue;
    pool.devices.push_back(device);
    pool.names.ordinals.push_back(i);
    pool.names.pool.push_back(device.uuid);
  }
  if (pool.devices.empty()) suite::skip("no_device");
  if (pool.devices.size() < devices) suite::skip("needs:devices>=" + std::to_string(devices));
  // Under a mask that names one UUID twice, no device is visible, so each check fails.
  const std::set<std::string> distinct(pool.names.pool.begin(), pool.names.pool.end());
  if (distinct.size() < pool.names.pool.size()) try_uuids(pool.devices, uuids_of_nvml);
  return pool;
}

ManagedUuids uuids_of_nvml() {
  const auto answer = Child({"management"}, {}).finish().answer;
  return answer && answer->contains("devices") ? managed_uuids(answer->at("devices")) : ManagedUuids();
}

Variables masked(const std::string& mask) { return {{kOrder, kByBus}, {kMask, mask}}; }

Enumeration enumerate_under(const std::string& mask) { return enumerate(masked(mask)); }

std::vector<std::string> leased(std::size_t devices) {
  const auto reported = devices_in(child::kDevicesVariable);
  if (!reported) return pool_of(devices).names.pool;  // A program that was started by hand has no leases.
  need_whole_gpus(*reported);
  if (reported->size() < devices) suite::skip("needs:devices>=" + std::to_string(devices));
  std::vector<std::string> names;
  for (const auto& [uuid, pci] : *reported) names.push_back(uuid);
  return names;
}

std::vector<std::string> uuids(const Enumeration& seen) { return identities(seen, IdentityKind::kUuid); }

namespace {

// The documents specify the code for a machine without devices, but not for a mask that selects none.
std::string nothing() { return suite::on_simgpu() ? kNoDevice : "nothing"; }

}  // namespace

std::string text_of(const Enumeration& seen) {
  if (seen.devices.empty() && seen.init != kSuccess && !suite::on_simgpu()) return nothing();
  return seen.init + (seen.devices.empty() ? "" : " ") + joined(uuids(seen));
}

std::string expected_text(const std::vector<std::string>& uuids) {
  return uuids.empty() ? nothing() : kSuccess + (" " + joined(uuids));
}

}  // namespace proctor::visibility
