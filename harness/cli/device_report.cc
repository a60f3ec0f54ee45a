#include "harness/cli/device_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include "harness/cli/shared_options.h"
#include "harness/devices/environment.h"
#include "harness/runner/machine/machine.h"

namespace proctor::cli {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

std::string words_about_size(const Device& device) {
  if (!device.capability.empty()) return "compute capability " + device.capability;
  return fmt::format("{} tile{}", device.tiles, device.tiles == 1 ? "" : "s");
}

}  // namespace

void add_device_query_options(CLI::App& command, DeviceQuery& query) {
  command
      .add_option("--sim", query.machine.sim,
                  "Simulated devices, for example xpu:2x2,cuda:4, or FILE.toml (default: those of the "
                  "machine). With ,driver=intel[@DIR]: Intel's driver in its no-hardware mode")
      ->type_name("DEVICES");
  command.add_option("--backend", query.backend, "Backend of the devices: cuda, xpu or all (default)")
      ->type_name("BACKEND")
      ->check(one_of({"cuda", "xpu", "all"}));
}

Result<DeviceReport> report_devices(const DeviceQuery& query) {
  const auto machine = Machine::open(query.machine, fmt::format("devices-{}", getpid()));
  if (!machine) return machine.error();
  const auto containment = (*machine)->containment();
  if (!containment) return containment.error();
  DeviceReport report;
  report.simulation = (*machine)->simulation();
  auto backends = report.simulation ? backends_of(report.simulation->topology)
                                    : std::vector<Backend>{Backend::kXpu, Backend::kCuda};
  if (const auto only = parse_backend(query.backend)) backends = {*only};
  for (const Backend backend : backends) {
    ProbeOptions probe;
    // Probes the whole machine in the order of a run, so that ids and positions mean the same device in all commands.
    probe.env = to_list(unmasked(backend, (*machine)->caller()));
    probe.timeout = query.probe_timeout;
    report.inventories[backend] = report.simulation
                                      ? probe_simulated(backend, **containment, *report.simulation, probe)
                                      : probe_devices(backend, **containment, probe);
  }
  return report;
}

std::vector<Device> DeviceReport::devices() const {
  std::vector<Device> all;
  for (const auto& [backend, inventory] : inventories)
    all.insert(all.end(), inventory.devices.begin(), inventory.devices.end());
  return all;
}

void print_simulation(const Simulation& simulation, std::ostream& out) {
  out << "simulated: " << simulation.topology.name << ", no result counts as hardware evidence\n";
}

void print_stack(const DeviceReport& report, std::ostream& out) {
  for (const auto& [backend, inventory] : report.inventories) {
    const std::string words = inventory.words();
    if (!words.empty()) out << fmt::format("{}: {}\n", to_string(backend), words);
  }
  for (const auto& [backend, inventory] : report.inventories) {
    for (const auto& [name, value] : inventory.stack) out << fmt::format("{} {}\n", name, value);
  }
}

void print_devices(const DeviceReport& report, std::ostream& out) {
  if (report.simulation) print_simulation(*report.simulation, out);
  for (const Device& device : report.devices()) {
    out << fmt::format("{:<22} {}  {}  {:.1f} GiB{}{}\n", device.id, device.name, words_about_size(device),
                       static_cast<double>(device.memory_bytes) / kGiB,
                       device.uuid.empty() ? "" : "  uuid " + device.uuid,
                       device.simulated ? "  simulated" : "");
  }
  print_stack(report, out);
}

}  // namespace proctor::cli
