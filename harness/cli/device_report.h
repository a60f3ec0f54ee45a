// What `devices` and `doctor` both tell about devices.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "harness/core/duration.h"
#include "harness/core/result.h"
#include "harness/devices/inventory.h"
#include "harness/devices/simulation.h"
#include "harness/process/containment.h"

namespace proctor::cli {

struct SimulationOptions {
  std::string topology;  // --sim
  std::string driver;    // --sim-driver; "" = simgpu
  std::string backend;   // --backend; "" = all that there may be
  // A person waits for these commands: a driver that needs longer is reported as such.
  Milliseconds probe_timeout{3'000};
};

void add_simulation_options(CLI::App& command, SimulationOptions& options);

struct DeviceReport {
  std::optional<Simulation> simulation;
  std::map<Backend, Inventory> inventories;  // of each backend that was asked

  std::vector<Device> devices() const;
};

// Probes in children under the best containment. Error: bad options, or no containment at all.
Result<DeviceReport> report_devices(const SimulationOptions& options);

void print_devices(const DeviceReport& report, std::ostream& out);

// `path` without symbolic links is a device node that this user may open for reading and writing.
bool can_open(const std::string& path);

}  // namespace proctor::cli
