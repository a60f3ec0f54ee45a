#include "harness/runner/machine/case_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "harness/base/json.h"
#include "harness/base/narrowing_variables.h"
#include "harness/base/number_text.h"
#include "harness/base/secrets.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/frameworks/kind.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

// Every version of JAX reads the first name. A version that reads the second one refuses both together.
constexpr const char* kJaxPart = "XLA_PYTHON_CLIENT_MEM_FRACTION";
constexpr const char* kNewJaxPart = "XLA_CLIENT_MEM_FRACTION";

// Returns the variables that limit the memory of each device. CuPy takes bytes. JAX takes a fraction of the device,
// here of the smallest one. Other frameworks have no such variable.
Environment memory_cap(std::uint64_t cap, Backend backend, const std::vector<LeasedDevice>& leased) {
  if (cap == 0 || leased.empty()) return {};
  Environment variables = {{kMemoryCapVariable, std::to_string(cap)}};
  if (backend != Backend::kCuda) return variables;
  variables["CUPY_GPU_MEMORY_LIMIT"] = std::to_string(cap);
  const auto smallest = std::ranges::min_element(leased, {}, &LeasedDevice::memory_bytes)->memory_bytes;
  if (smallest > cap) {
    const auto part = static_cast<double>(cap) / static_cast<double>(smallest);
    // The value is rounded down to stay below the cap. It stays above zero: the least cap of the largest card is some
    // millionths.
    variables[kJaxPart] = fmt::format("{:.9f}", std::floor(part * 1e9) / 1e9);
  }
  return variables;
}

}  // namespace

std::string devices_json(const std::vector<LeasedDevice>& devices) {
  auto list = nlohmann::json::array();
  for (const auto& device : devices) {
    list.push_back({{"id", device.id}, {"uuid", device.uuid}, {"pci", device.pci}});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CaseEnvironments::CaseEnvironments(Environment caller, std::vector<LeasedDevice> devices,
                                   SimEnvironments simulations, std::string tmpdir, Extent extent)
    : caller_(std::move(caller)),
      devices_(std::move(devices)),
      simulations_(std::move(simulations)),
      tmpdir_(std::move(tmpdir)),
      extent_(std::move(extent)) {}

Result<CaseEnvironment> CaseEnvironments::of(const Suite& suite, const std::vector<std::string>& device_ids) {
  return remembered(suite.name,
                    {.ours = suite.kind->ours(),
                     .backend = suite.backend,
                     .mask = suite.mask,
                     .hierarchy = suite.hierarchy,
                     .mem_cap = suite.mem_cap,
                     .env = suite.env,
                     .not_from_caller = suite.kind->traits().caller_filters},
                    device_ids);
}

Result<CaseEnvironment> CaseEnvironments::of_program(Backend backend,
                                                     const std::vector<std::string>& device_ids) {
  return remembered("", {.backend = backend, .hierarchy = "composite"}, device_ids);
}

Result<CaseEnvironment> CaseEnvironments::remembered(const std::string& name, const Process& process,
                                                     const std::vector<std::string>& device_ids) {
  std::string key = name + '\n' + std::string(to_string(process.backend));
  for (const auto& id : device_ids) key += '\n' + id;
  if (const auto known = built_.find(key); known != built_.end()) return known->second;
  auto environment = build(process, device_ids);
  if (!environment) return environment.error();
  return built_.emplace(key, *std::move(environment)).first->second;
}

std::vector<LeasedDevice> CaseEnvironments::leased(const std::vector<std::string>& device_ids) const {
  std::vector<LeasedDevice> leased;
  std::ranges::copy_if(devices_, std::back_inserter(leased), [&](const LeasedDevice& device) {
    return std::ranges::find(device_ids, device.id) != device_ids.end();
  });
  return leased;
}

Result<std::vector<VariableChange>> CaseEnvironments::visibility(const Process& process,
                                                                 const std::vector<LeasedDevice>& leased,
                                                                 const SimEnvironment* simulation) const {
  VisibilityRequest request;
  request.backend = process.backend;
  const auto mode = parse_mask_mode(process.mask);
  if (!mode) return mode.error();
  request.mode = *mode;
  const auto asked = parse_hierarchy_word(process.hierarchy);
  const auto of_caller = caller_hierarchy(caller_);
  if (!asked && process.backend == Backend::kXpu && !of_caller) return of_caller.error();
  request.hierarchy = asked ? *asked : of_caller ? of_caller->value_or(request.hierarchy) : request.hierarchy;
  request.hierarchy_given = asked.has_value();
  request.simulated_intel = simulation != nullptr && simulation->whole;
  if (!request.simulated_intel) request.devices = leased;
  return plan_visibility(request);
}

void CaseEnvironments::add_our_variables(const Process& process, const std::vector<LeasedDevice>& leased,
                                         Environment& environment) const {
  if (process.ours) {
    environment[child::kSizeVariable] = extent_.size;
    environment[child::kSeedVariable] = std::to_string(extent_.seed);
    environment[child::kPointVariable] = extent_.point;
  }
  if (leased.empty()) return;
  environment[child::kDevicesVariable] = devices_json(leased);
  if (!process.ours || process.backend != Backend::kCuda) return;
  std::vector<LeasedDevice> pool;
  for (const auto& device : devices_) {
    if (device.id.starts_with("cuda")) pool.push_back(device);
  }
  environment[child::kPoolVariable] = devices_json(pool);
}

Result<CaseEnvironment> CaseEnvironments::build(const Process& process,
                                                const std::vector<std::string>& device_ids) const {
  auto environment = base_environment(process.ours, caller_, tmpdir_);
  if (!environment) return environment.error();
  for (const auto& name : process.not_from_caller) environment->erase(std::string(name));
  for (const auto& [name, value] : process.env) (*environment)[name] = value;

  const auto leased = this->leased(device_ids);
  const auto found = simulations_.find(process.backend);
  const SimEnvironment* simulation = found == simulations_.end() ? nullptr : &found->second;
  if (simulation != nullptr && !simulation->whole && leased.empty())
    simulation = nullptr;  // the case has no simulated
                           // device
  if (simulation != nullptr) {
    for (const auto& name : simulation->unset) environment->erase(name);
  }
  const auto plan = visibility(process, leased, simulation);
  if (!plan) return plan.error();
  apply(*plan, *environment);
  std::vector<std::string> simulated;
  if (simulation != nullptr) {
    for (const auto& [name, value] : simulation->set) {
      (*environment)[name] = value;
      simulated.push_back(name);
    }
    auto& path = (*environment)["LD_LIBRARY_PATH"];
    path = prepended(simulation->library_directory, path);
    if (path.empty()) environment->erase("LD_LIBRARY_PATH");
  }
  add_our_variables(process, leased, *environment);
  const auto cap = memory_cap(process.mem_cap, process.backend, leased);
  for (const auto& [name, value] : cap) (*environment)[name] = value;
  if (cap.contains(kJaxPart)) environment->erase(kNewJaxPart);
  CaseEnvironment built{.variables = to_list(*environment),
                        .visibility = effective_variables(*environment, caller_, *plan, simulated)};
  for (const auto& [name, value] : cap) built.visibility.push_back({name, value, "proctor"});
  return built;
}

namespace {

constexpr const char* kPythonPath = "PYTHONPATH";
constexpr std::size_t kShown = 200;

// Returns the value of the caller or of the suite, without the prefix that Proctor added.
std::string without(const std::string& ours, const std::string& value) {
  if (ours.empty() || !value.starts_with(ours)) return value;
  const std::string rest = value.substr(ours.size());
  return rest.empty() || rest.front() == ':' ? rest.substr(rest.empty() ? 0 : 1) : value;
}

// Returns whether the value has no effect. A kind sets such a value to disable other values.
bool is_harmless(const Kind& kind, const std::string& name, const std::string& value) {
  const auto& filters = kind.traits().caller_filters;
  return std::ranges::find(filters, name) != filters.end() && kind.instead_of(name, value).empty();
}

}  // namespace

std::vector<NarrowingVariable> narrowing_variables(const Suite& suite, const Environment& caller,
                                                   const std::vector<std::string>& child,
                                                   const std::string& our_python_path) {
  std::vector<NarrowingVariable> found;
  for (const std::string& variable : child) {
    const std::string name = variable.substr(0, variable.find('='));
    if (!is_narrowing_variable(name)) continue;
    const auto of_suite = suite.env.find(name);
    const auto of_caller = caller.find(name);
    if (of_suite == suite.env.end() && of_caller == caller.end()) continue;  // set by a simulation
    std::string value = of_suite != suite.env.end() ? of_suite->second : of_caller->second;
    if (name == kPythonPath) value = without(our_python_path, value);
    if (!is_narrowing_variable(name, value, suite.kind->name()) || is_harmless(*suite.kind, name, value))
      continue;
    const bool by_caller = of_caller != caller.end() && of_caller->second == value;
    found.push_back({.suite = suite.name,
                     .backend = std::string(to_string(suite.backend)),
                     .name = name,
                     .value = is_secret_name(name) ? std::string(kHiddenValue) : value,
                     .by = by_caller ? "caller" : "suite",
                     .covered_by = of_suite != suite.env.end() ? std::string(kCoveredByPlan) : ""});
  }
  return found;
}

std::vector<std::string> describe_narrowing(const std::vector<NarrowingVariable>& variables) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>> suites;
  for (const NarrowingVariable& one : variables) suites[{one.name, one.value, one.by}].push_back(one.suite);
  std::vector<std::string> lines;
  for (const auto& [variable, names] : suites) {
    const auto& [name, value, by] = variable;
    const std::string cut = value.size() > kShown ? value.substr(0, kShown) + "..." : value;
    lines.push_back(fmt::format("  variable     {}={} ({}) may change what {} runs, or how it judges", name,
                                shell_quote(cut), by, joined(names, ", ")));
  }
  return lines;
}

}  // namespace proctor
