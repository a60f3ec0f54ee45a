#include "harness/devices/leases/ctest_resources.h"

#include <algorithm>
#include <cctype>

#include "harness/base/json.h"

namespace proctor {
namespace {

constexpr const char* kType = "gpus";
constexpr const char* kVariable = "CTEST_RESOURCE_GROUP_";

std::string resource_id(const std::string& device) {
  std::string id;
  for (const char c : device) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    id += std::isalnum(static_cast<unsigned char>(c)) != 0 ? lower : '_';
  }
  return id;
}

// "id:xpu_0,slots:1;id:xpu_1,slots:1"
std::vector<std::string> allocated_ids(const std::string& value) {
  constexpr std::string_view kKey = "id:";
  std::vector<std::string> ids;
  for (auto at = value.find(kKey); at != std::string::npos; at = value.find(kKey, at)) {
    at += kKey.size();
    ids.push_back(value.substr(at, value.find_first_of(",;", at) - at));
  }
  return ids;
}

}  // namespace

nlohmann::json ctest_resource_spec(const std::vector<Device>& devices) {
  nlohmann::json types = nlohmann::json::object();
  nlohmann::json all = nlohmann::json::array();
  bool one_backend = true;
  for (const auto& device : devices) {
    const nlohmann::json slot = {{"id", resource_id(device.id)}, {"slots", 1}};
    types[device.backend + "_" + kType].push_back(slot);
    all.push_back(slot);
    one_backend = one_backend && device.backend == devices.front().backend;
  }
  if (one_backend) types[kType] = all;
  return {{"version", {{"major", 1}, {"minor", 0}}}, {"local", nlohmann::json::array({types})}};
}

Result<std::optional<std::vector<std::string>>> ctest_allocation(const Environment& environment,
                                                                 const std::vector<std::string>& ids) {
  std::optional<std::vector<std::string>> allocated;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kVariable) || !name.ends_with("_GPUS")) continue;
    if (!allocated) allocated.emplace();
    for (const auto& wanted : allocated_ids(value)) {
      const auto found = std::find_if(ids.begin(), ids.end(),
                                      [&](const std::string& id) { return resource_id(id) == wanted; });
      if (found == ids.end()) {
        return Error::usage("use " + name + "=" + value + ": this run has no device '" + wanted + "'",
                            "Write the specification again: proctor devices --ctest-resource-spec.");
      }
      allocated->push_back(*found);
    }
  }
  return allocated;
}

bool has_ctest_allocation(const Environment& environment, std::string_view backend) {
  return std::any_of(environment.begin(), environment.end(), [&](const auto& variable) {
    const auto& [name, value] = variable;
    const auto is_of_backend = [&](const std::string& id) {
      return id.starts_with(std::string(backend) + "_");
    };
    return name.starts_with(kVariable) && name.ends_with("_GPUS") &&
           std::ranges::any_of(allocated_ids(value), is_of_backend);
  });
}

}  // namespace proctor
