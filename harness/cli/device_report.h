// Lists devices for `devices` and `doctor`.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/cli/shared_options.h"
#include "harness/devices/inventory.h"
#include "harness/devices/simulation.h"

namespace proctor::cli {

// Selects the vendors' devices, and limits the time of a driver. A user waits for these commands, so a driver that
// needs longer is reported as too slow.
struct DeviceQuery {
  MachineOptions machine;
  std::string backend;  // --backend; "": all likely backends
  Milliseconds probe_timeout{3'000};
};

void add_device_query_options(CLI::App& command, DeviceQuery& query);

struct DeviceReport {
  std::optional<Simulation> simulation;
  std::map<Backend, Inventory> inventories;  // one per probed backend

  std::vector<Device> devices() const;
};

// Probes devices in children under the strongest available containment. Invalid options and missing containment are
// errors.
Result<DeviceReport> report_devices(const DeviceQuery& query);

// Prints a report. print_simulation() prints its first lines, print_stack() its last ones.
void print_devices(const DeviceReport& report, std::ostream& out);
void print_simulation(const Simulation& simulation, std::ostream& out);
void print_stack(const DeviceReport& report, std::ostream& out);

}  // namespace proctor::cli
