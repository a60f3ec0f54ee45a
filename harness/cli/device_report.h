// What `devices` and `doctor` both tell about devices.
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

// The question: which vendors' devices, and how long a driver may take. A person waits for these commands, so
// a driver that needs longer is reported as too slow.
struct DeviceQuery {
  MachineOptions machine;
  std::string backend;  // --backend; "" = all that there may be
  Milliseconds probe_timeout{3'000};
};

void add_device_query_options(CLI::App& command, DeviceQuery& query);

struct DeviceReport {
  std::optional<Simulation> simulation;
  std::map<Backend, Inventory> inventories;  // one for each backend that was probed

  std::vector<Device> devices() const;
};

// Probes in children under the best containment. The error is for bad options, or if there is no containment
// at all.
Result<DeviceReport> report_devices(const DeviceQuery& query);

// All of a report in lines; print_simulation() and print_stack() are its first and its last ones.
void print_devices(const DeviceReport& report, std::ostream& out);
void print_simulation(const Simulation& simulation, std::ostream& out);
void print_stack(const DeviceReport& report, std::ostream& out);

}  // namespace proctor::cli
