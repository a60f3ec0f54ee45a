// Options that several commands share: the machine, and the cases on it. Each option is declared and stored
// here as it was typed; machine.cc and the plan report wrong values.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/duration.h"
#include "harness/core/result.h"
#include "harness/machine/suite_arguments.h"
#include "harness/plan/options.h"
#include "harness/process/containment.h"

namespace proctor {

struct MachineOptions {
  std::string sim{};                 // --sim; "" = the machine's own devices
  std::string state_dir{};           // --state-dir; "" = LeaseDirectory::default_path()
  std::string devices{};             // --devices; "" = all that the caller may use
  std::string containment = "auto";  // --containment: a layer, ">=LAYER", or "auto"
  std::string known_containment{};   // Containment::open(): the file of a session; "" = none
};

// The options that decide which cases there are.
struct PlanOptions {
  ConfigOptions config;
  SelectionOptions selection;
  LimitOptions limits;
  SuiteArguments suite_arguments;
  Extent extent;
  std::string provider;                          // of collectives; "" = each check's own
  std::optional<std::string> lease_wait_text{};  // --lease-wait of the commands that only list
  // How long a listing waits for devices that other runs hold, and who is told that it does. May be empty.
  Milliseconds lease_wait{600'000};
  std::function<void(const std::string& why)> on_wait{};
  Milliseconds listing_timeout{60'000};  // of each command that lists
  // What was listed before (known_listings.h); "" = nothing. It is not read but written if `keep_listings`.
  std::string listings{};
  bool keep_listings = false;
};

// What CLI11 checks of a value. Its own validators have other words in each of its versions.
CLI::Validator one_of(std::vector<std::string> choices);
CLI::Validator from_to(int least, int most);

// The options about the surroundings of every case of a run.
void add_machine_options(CLI::App& command, MachineOptions& options);
void add_simulation_option(CLI::App& command, MachineOptions& options);
void add_devices_option(CLI::App& command, MachineOptions& options);
void add_plan_options(CLI::App& command, PlanOptions& options);
void add_limit_options(CLI::App& command, LimitOptions& limits);
void add_verdict_options(CLI::App& command, LimitOptions& limits);
void add_hierarchy_option(CLI::App& command, SelectionOptions& selection);
void add_mask_option(CLI::App& command, SelectionOptions& selection);
void add_mem_cap_option(CLI::App& command, SelectionOptions& selection);
void add_host_pids_option(CLI::App& command, SelectionOptions& selection);
// For commands that list and run nothing.
void add_lease_wait_option(CLI::App& command, PlanOptions& options);

struct Layers {
  std::optional<Layer> wanted;    // none: the best one
  std::optional<Layer> required;  // nothing weaker
};
// Reads --containment.
Result<Layers> read_layers(const MachineOptions& options);

// What follows `--` on the command line; nullopt: there is no `--`.
using AfterDashes = std::optional<std::vector<std::string>>;

// Completes `options` with the arguments of the suites, where proctor was started, and the command after `--`.
Result<void> complete(PlanOptions& options, const AfterDashes& after_dashes);

}  // namespace proctor
