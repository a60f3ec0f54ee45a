#include "harness/cli/device_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include "harness/devices/environment.h"

namespace proctor::cli {
namespace {

// A person waits for these commands: a driver that needs longer is reported as such.
constexpr Milliseconds kProbeTimeout{3'000};
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

}  // namespace

void add_simulation_options(CLI::App& command, SimulationOptions& options) {
  command.add_option("--sim", options.topology,
                     "simulated devices instead of the machine's own, e.g. xpu:2x2, or FILE.toml");
  command.add_option("--sim-driver", options.driver,
                     "simgpu (default), or intel[@DIR]: Intel's own driver in its no-hardware mode");
}

Result<DeviceReport> report_devices(const SimulationOptions& options) {
  DeviceReport report;
  if (!options.topology.empty()) {
    auto simulation = parse_simulation(options.topology, options.driver);
    if (!simulation) return simulation.error();
    report.simulation = *std::move(simulation);
  }
  auto containment = Containment::open(std::nullopt, fmt::format("devices-{}", getpid()));
  if (!containment) return containment.error();
  ProbeOptions probe;
  probe.env = to_list(read_environment(environ));
  probe.timeout = kProbeTimeout;
  report.inventory = report.simulation ? probe_simulated_xpu(**containment, *report.simulation, probe)
                                       : probe_xpu(**containment, probe);
  return report;
}

void print_devices(const DeviceReport& report, std::ostream& out) {
  const Inventory& inventory = report.inventory;
  if (report.simulation) {
    out << "simulated: " << report.simulation->topology.name << ", no result counts as hardware evidence\n";
  }
  for (const Device& device : inventory.devices) {
    out << fmt::format("{:<22} {}  {} tile{}  {:.1f} GiB{}{}\n", device.id, device.name, device.tiles,
                       device.tiles == 1 ? "" : "s", static_cast<double>(device.memory_bytes) / kGiB,
                       device.uuid.empty() ? "" : "  uuid " + device.uuid,
                       device.simulated ? "  simulated" : "");
  }
  if (!inventory.problem.empty()) {
    out << fmt::format("xpu: {}{}\n", inventory.problem,
                       inventory.detail.empty() ? "" : ": " + inventory.detail);
  }
  for (const auto& [name, value] : inventory.stack) out << fmt::format("{} {}\n", name, value);
}

bool can_open(const std::string& path) { return access(path.c_str(), R_OK | W_OK) == 0; }

}  // namespace proctor::cli
