// proctor devices: what this machine has, found by contained probes, and which of it gets no cases.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/ctest_resources.h"
#include "harness/cli/device_report.h"
#include "harness/cli/run_options.h"
#include "harness/cli/undrain.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "harness/devices/health/drained.h"
#include "harness/devices/leases/lease.h"

namespace proctor::cli {
namespace {

nlohmann::json to_json(const Device& device) {
  nlohmann::json entry = {{"id", device.id},
                          {"backend", device.backend},
                          {"name", device.name},
                          {"type", device.type},
                          {"uuid", device.uuid},
                          {"pci", device.pci},
                          {"tiles", device.tiles},
                          {"memory_bytes", device.memory_bytes},
                          {"integrated", device.integrated},
                          {"simulated", device.simulated}};
  if (!device.capability.empty()) entry["compute_capability"] = device.capability;
  return entry;
}

// "problem", "detail" and "missing_symbols" at the top are from when there was one backend: they are those of
// the first one that was asked.
nlohmann::json to_json(const DeviceReport& report, const std::vector<DrainedDevice>& drained) {
  nlohmann::json devices = nlohmann::json::array();
  for (const Device& device : report.devices()) devices.push_back(to_json(device));
  nlohmann::json out = nlohmann::json::array();
  for (const auto& device : drained) {
    out.push_back({{"device", device.device},
                   {"reason", device.reason},
                   {"evidence", device.evidence},
                   {"since", device.since},
                   {"run", device.run}});
  }
  nlohmann::json stack = nlohmann::json::object();
  nlohmann::json backends = nlohmann::json::object();
  for (const auto& [backend, inventory] : report.inventories) {
    for (const auto& [name, value] : inventory.stack) stack[name] = value;
    backends[std::string(to_string(backend))] = {{"problem", inventory.problem},
                                                 {"detail", inventory.detail},
                                                 {"runtime_problem", inventory.runtime_problem},
                                                 {"runtime_detail", inventory.runtime_detail},
                                                 {"missing_symbols", inventory.missing_symbols}};
  }
  const auto xpu = report.inventories.find(Backend::kXpu);
  const Inventory& first = xpu != report.inventories.end() ? xpu->second : report.inventories.begin()->second;
  return {{"devices", devices},
          {"drained", out},
          {"stack", stack},
          {"backends", backends},
          {"problem", first.problem},
          {"detail", first.detail},
          {"missing_symbols", first.missing_symbols}};
}

struct ListOptions {
  SimulationOptions simulation;
  std::string state_dir = LeaseDirectory::kDefaultPath;
  bool json = false;
  bool ctest_resource_spec = false;
};

int run_devices(const ListOptions& options) {
  const auto report = report_devices(options.simulation);
  if (!report) return fail(report.error());
  if (options.ctest_resource_spec) {
    std::cout << ctest_resource_spec(report->devices()).dump(2) << '\n';
    return report->devices().empty() ? kExitIncomplete : kExitGreen;
  }
  const auto drained = DrainList(options.state_dir).list();
  if (options.json) {
    std::cout << to_json(*report, drained).dump(2) << '\n';
  } else {
    print_devices(*report, std::cout);
    for (const auto& device : drained) std::cout << describe(device) << '\n';
  }
  return report->devices().empty() ? kExitIncomplete : kExitGreen;
}

std::string did_you_mean(const std::string& device, const std::vector<std::string>& ids) {
  const auto near = near_miss(device, ids);
  if (!near.empty()) return fmt::format("Did you mean `{}`?", near);
  return ids.empty() ? "" : fmt::format("There are: {}.", fmt::join(ids, ", "));
}

struct DrainOptions {
  SimulationOptions simulation;
  std::string state_dir = LeaseDirectory::kDefaultPath;
  std::string device;
  std::string reason;
};

// A name that nobody has would drain nothing. Where no device can be listed, any name is taken: the driver of
// the very device may be dead.
Result<void> check_name(const DrainOptions& options) {
  const auto report = report_devices(options.simulation);
  if (!report) return report.error();
  std::vector<std::string> ids;
  for (const auto& device : report->devices()) ids.push_back(device.id);
  if (ids.empty() || std::find(ids.begin(), ids.end(), options.device) != ids.end()) return {};
  return Error::usage("drain " + options.device + ": this machine has no such device",
                      did_you_mean(options.device, ids));
}

int drain(const DrainOptions& options) {
  if (auto known = check_name(options); !known) return fail(known.error());
  const auto leases = LeaseDirectory::open(options.state_dir);
  if (!leases) return fail(leases.error());
  const DrainList list(leases->path());
  auto drained = list.drain({.device = options.device, .reason = "by hand", .evidence = options.reason});
  if (!drained) return fail(drained.error());
  std::cout << describe(*list.find(options.device)) << '\n';
  return kExitGreen;
}

void add_state_dir(CLI::App& command, std::string& state_dir) {
  command.add_option("--state-dir", state_dir, "where leases and drained devices are kept");
}

void add_drain_command(CLI::App& devices, Action& action) {
  auto options = std::make_shared<DrainOptions>();
  CLI::App* out = devices.add_subcommand("drain", "give a device no more cases, of any run");
  out->add_option("DEVICE", options->device, "its id, see `proctor devices`")->required();
  out->add_option("--reason", options->reason, "one sentence, for whoever finds it drained")->required();
  add_simulation_options(*out, options->simulation);
  add_state_dir(*out, options->state_dir);
  out->callback([&action, options] { action = [options] { return drain(*options); }; });
}

}  // namespace

void add_devices_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("devices", "list the devices of this machine, found by contained probes");
  CLI::App* list = command->add_subcommand("list", "the same");
  auto options = std::make_shared<ListOptions>();
  for (CLI::App* each : {command, list}) {
    add_simulation_options(*each, options->simulation);
    add_state_dir(*each, options->state_dir);
    each->add_flag("--json", options->json, "one JSON document");
    each->add_flag("--ctest-resource-spec", options->ctest_resource_spec,
                   "a file for `ctest --resource-spec-file`");
  }
  command->callback([&action, command, list, options] {
    if (!command->get_subcommands().empty() && !list->parsed()) return;  // drain and undrain have their own
    action = [options] { return run_devices(*options); };
  });
  add_drain_command(*command, action);
  add_undrain_command(*command, action);
}

}  // namespace proctor::cli
