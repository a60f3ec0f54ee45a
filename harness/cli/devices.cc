// proctor devices: what this machine has, found by contained probes.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/device_report.h"
#include "harness/cli/run_options.h"
#include "harness/core/exit_code.h"

namespace proctor::cli {
namespace {

nlohmann::json to_json(const DeviceReport& report) {
  nlohmann::json devices = nlohmann::json::array();
  for (const Device& device : report.inventory.devices) {
    devices.push_back({{"id", device.id},
                       {"backend", device.backend},
                       {"name", device.name},
                       {"type", device.type},
                       {"uuid", device.uuid},
                       {"pci", device.pci},
                       {"tiles", device.tiles},
                       {"memory_bytes", device.memory_bytes},
                       {"integrated", device.integrated},
                       {"simulated", device.simulated}});
  }
  nlohmann::json stack = nlohmann::json::object();
  for (const auto& [name, value] : report.inventory.stack) stack[name] = value;
  return {{"devices", devices},
          {"stack", stack},
          {"problem", report.inventory.problem},
          {"detail", report.inventory.detail},
          {"missing_symbols", report.inventory.missing_symbols}};
}

int run_devices(const SimulationOptions& options, bool json) {
  const auto report = report_devices(options);
  if (!report) return fail(report.error());
  if (json) {
    std::cout << to_json(*report).dump(2) << '\n';
  } else {
    print_devices(*report, std::cout);
  }
  return report->inventory.devices.empty() ? kExitIncomplete : kExitGreen;
}

}  // namespace

void add_devices_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("devices", "list the devices of this machine, found by contained probes");
  CLI::App* list = command->add_subcommand("list", "the same");
  auto options = std::make_shared<SimulationOptions>();
  auto json = std::make_shared<bool>(false);
  for (CLI::App* each : {command, list}) {
    add_simulation_options(*each, *options);
    each->add_flag("--json", *json, "one JSON document");
  }
  command->callback(
      [&action, options, json] { action = [options, json] { return run_devices(*options, *json); }; });
}

}  // namespace proctor::cli
