// Who looks after the devices of a run: a monitor for each vendor, and the program that examines a device.
#include "harness/cli/run_watch.h"

#include <algorithm>

#include "harness/cli/run_command.h"
#include "harness/devices/health/health_check.h"
#include "harness/devices/inventory.h"

namespace proctor::cli {

// It sees the simulated machine without its faults: they belong to the programs that run on it.
std::optional<MonitorSetup> monitor_of(const RunDevices& devices, const std::string& sim_state,
                                       ScratchRoot& scratch) {
  MonitorSetup setup;
  for (const WatchedDevices& watched : devices.watched) {
    ProbeMonitorSetup probe;
    probe.env = watched.env;
    if (const auto found = devices.simulations.find(watched.backend); found != devices.simulations.end()) {
      SimEnvironment machine = found->second;
      bind(machine, {.state = sim_state, .log = {}, .faults = {}});
      probe.env = with_simulation(std::move(probe.env), machine);
      probe.argv = machine.launcher;
    }
    probe.argv.push_back(default_probe(watched.backend));
    probe.fifo = scratch.new_file_name();
    probe.ids = watched.ids;
    setup.probes.push_back(std::move(probe));
  }
  if (setup.probes.empty()) return std::nullopt;
  return setup;
}

// It sees the device as a case does, the faults of a simulated one included.
std::optional<HealthRequest> RunCommand::health_request(const std::string& device) {
  const auto entry = std::find_if(devices_.pool.begin(), devices_.pool.end(),
                                  [&](const PoolDevice& candidate) { return candidate.device.id == device; });
  if (entry == devices_.pool.end() || entry->shared) return std::nullopt;
  const std::string program = health_program(entry->device.backend);
  const auto backend = parse_backend(entry->device.backend);
  if (program.empty() || !backend) return std::nullopt;
  Suite suite;
  suite.kind = SuiteKind::kProctor;
  suite.backend = *backend;
  auto environment = environments_->of(suite, {device});
  if (!environment) return std::nullopt;
  HealthRequest request{
      .argv = {program}, .env = *std::move(environment), .directory = scratch_->path(), .leases = {}};
  if (policy_.reset_sick.value_or(false)) request.reset = {program, "--reset"};
  return request;
}

}  // namespace proctor::cli
