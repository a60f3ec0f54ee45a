#include "suites/visibility/cuda/ask.h"

#include <algorithm>
#include <cstdlib>

#include "harness/core/child_protocol.h"
#include "suites/main/check.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;

constexpr const char* kSuccess = "cudaSuccess";
constexpr const char* kNoDevice = "cudaErrorNoDevice";

// The member "uuid" of each entry of a variable such as PROCTOR_DEVICES; none: it is not set.
std::optional<std::vector<std::string>> uuids_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const json list = json::parse(text, nullptr, false);
  std::vector<std::string> names;
  for (const auto& entry : list.is_array() ? list : json::array()) {
    names.push_back(entry.is_object() ? entry.value("uuid", "") : "");
  }
  return names;
}

// Why nothing can be enumerated; "" when it can.
std::string problem_of(const Enumeration& seen) {
  if (seen.init == kNoDevice || (seen.init == kSuccess && seen.devices.empty())) return "no_device";
  if (seen.init == kSuccess) return "";
  if (seen.init == "cudaErrorInsufficientDriver")
    return seen.driver_version == 0 ? "no_driver" : "driver_too_old";
  return "init:" + seen.init;
}

std::vector<std::string> allowed_names(const Enumeration& machine) {
  if (auto names = uuids_in(child::kPoolVariable)) return *std::move(names);
  const char* own = std::getenv(kMask);
  if (own == nullptr) return uuids(machine);
  Variables variables{{kMask, own}};
  if (const char* order = std::getenv(kOrder)) variables.emplace_back(kOrder, order);
  return uuids(enumerate(variables));
}

}  // namespace

const ChildRules& child_rules() {
  static const ChildRules rules{.owned = {kMask, kOrder}, .defaults = {}};
  return rules;
}

std::string Pool::ordinal(std::size_t i) const {
  return std::get<std::string>(mask_value("{" + std::to_string(i) + "}", names));
}

std::string Pool::mask() const { return joined(names.pool, ","); }

Pool pool_of(std::size_t devices) {
  const auto machine = enumerate({{kOrder, kByBus}});
  if (const auto problem = problem_of(machine); !problem.empty()) suite::skip(problem);
  const auto allowed = allowed_names(machine);
  Pool pool;
  pool.names.machine = uuids(machine);
  for (const auto& device : machine.devices) {
    if (std::ranges::find(allowed, device.uuid) == allowed.end()) continue;
    pool.devices.push_back(device);
    pool.names.pool.push_back(device.uuid);
  }
  if (pool.devices.empty()) suite::skip("no_device");
  if (pool.devices.size() < devices) suite::skip("needs:devices>=" + std::to_string(devices));
  return pool;
}

Variables masked(const std::string& mask) { return {{kOrder, kByBus}, {kMask, mask}}; }

Enumeration enumerate_under(const std::string& mask) { return enumerate(masked(mask)); }

std::vector<std::string> leased(std::size_t devices) {
  auto names = uuids_in(child::kDevicesVariable);
  if (!names) names = pool_of(devices).names.pool;  // by hand there are no leases
  if (names->size() < devices) suite::skip("needs:devices>=" + std::to_string(devices));
  return *std::move(names);
}

std::vector<std::string> uuids(const Enumeration& seen) { return identities(seen, IdentityKind::kUuid); }

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string text_of(const Enumeration& seen) {
  return seen.init + (seen.devices.empty() ? "" : " ") + joined(uuids(seen));
}

std::string expected_text(const std::vector<std::string>& uuids) {
  return uuids.empty() ? kNoDevice : kSuccess + (" " + joined(uuids));
}

}  // namespace proctor::visibility
