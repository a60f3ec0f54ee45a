#include "harness/machine/case_environment.h"

#include <algorithm>

#include "harness/core/child_protocol.h"
#include "harness/core/json.h"
#include "harness/plan/kinds/kind.h"

namespace proctor {

std::string devices_json(const std::vector<LeasedDevice>& devices) {
  auto list = nlohmann::json::array();
  for (const auto& device : devices) {
    list.push_back({{"id", device.id}, {"uuid", device.uuid}, {"pci", device.pci}});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CaseEnvironments::CaseEnvironments(Environment caller, std::vector<LeasedDevice> devices,
                                   SimEnvironments simulations, std::string tmpdir, std::string size)
    : caller_(std::move(caller)),
      devices_(std::move(devices)),
      simulations_(std::move(simulations)),
      tmpdir_(std::move(tmpdir)),
      size_(std::move(size)) {}

Result<std::vector<std::string>> CaseEnvironments::of(const Suite& suite,
                                                      const std::vector<std::string>& device_ids) {
  return remembered(
      suite.name,
      {.ours = suite.kind->ours(), .backend = suite.backend, .mask = suite.mask, .env = suite.env},
      device_ids);
}

Result<std::vector<std::string>> CaseEnvironments::of_program(Backend backend,
                                                              const std::vector<std::string>& device_ids) {
  return remembered("", {.backend = backend}, device_ids);
}

Result<std::vector<std::string>> CaseEnvironments::remembered(const std::string& name, const Process& process,
                                                              const std::vector<std::string>& device_ids) {
  std::string key = name + '\n' + std::string(to_string(process.backend));
  for (const auto& id : device_ids) key += '\n' + id;
  if (const auto known = built_.find(key); known != built_.end()) return known->second;
  auto environment = build(process, device_ids);
  if (!environment) return environment.error();
  return built_.emplace(key, to_list(*environment)).first->second;
}

Result<Environment> CaseEnvironments::build(const Process& process,
                                            const std::vector<std::string>& device_ids) const {
  auto environment = base_environment(process.ours, caller_, tmpdir_);
  if (!environment) return environment.error();
  const auto mode = parse_mask_mode(process.mask);
  if (!mode) return mode.error();

  VisibilityRequest request;
  request.backend = process.backend;
  request.mode = *mode;
  std::vector<LeasedDevice> leased;
  for (const auto& device : devices_) {
    if (std::find(device_ids.begin(), device_ids.end(), device.id) != device_ids.end())
      leased.push_back(device);
  }
  const auto found = simulations_.find(process.backend);
  const SimEnvironment* simulation = found == simulations_.end() ? nullptr : &found->second;
  request.simulated_intel = simulation != nullptr && simulation->whole;
  if (!request.simulated_intel) request.devices = leased;
  const auto visibility = plan_visibility(request);
  if (!visibility) return visibility.error();
  apply(*visibility, *environment);

  const bool reaches_simulation = simulation != nullptr && (simulation->whole || !leased.empty());
  if (reaches_simulation) {
    for (const auto& name : simulation->unset) environment->erase(name);
    for (const auto& [name, value] : simulation->set) (*environment)[name] = value;
  }
  if (process.ours) (*environment)[child::kSizeVariable] = size_;
  for (const auto& [name, value] : process.env) (*environment)[name] = value;
  if (reaches_simulation && !simulation->library_directory.empty()) {
    auto& path = (*environment)["LD_LIBRARY_PATH"];
    path = prepended(simulation->library_directory, path);
  }
  if (!leased.empty()) (*environment)[child::kDevicesVariable] = devices_json(leased);
  if (!leased.empty() && process.ours && process.backend == Backend::kCuda) {
    std::vector<LeasedDevice> pool;
    for (const auto& device : devices_) {
      if (device.id.starts_with("cuda")) pool.push_back(device);
    }
    (*environment)[child::kPoolVariable] = devices_json(pool);
  }
  return environment;
}

}  // namespace proctor
