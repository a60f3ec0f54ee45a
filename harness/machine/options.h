// Options that several commands share: the machine, and the cases on it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/duration.h"
#include "harness/core/result.h"
#include "harness/plan/load_config.h"
#include "harness/request/run_request.h"

namespace proctor {

// The options that decide which cases there are.
struct PlanOptions {
  ConfigOptions config{};
  std::optional<ConfigFiles> files{};  // of `config`, if they were read
  SelectionOptions selection{};
  LimitOptions limits{};
  Extent extent{};
  std::string provider{};  // of collectives; "" = each check's own
  // How long a listing waits for devices that other runs hold, and who is told that it does. May be empty.
  Milliseconds lease_wait{600'000};
  std::function<void(const std::string& why)> on_wait{};
  Milliseconds listing_timeout{60'000};  // of each command that lists
  // What was listed before (known_listings.h); "" = nothing. It is not read but written if `keep_listings`.
  std::string listings{};
  bool keep_listings = false;
};

// Returns the options of a request. An error names the argument of a suite.
Result<PlanOptions> plan_options(const RunRequest& request);

// What CLI11 checks of a value. Its own validators have other words in each of its versions.
CLI::Validator one_of(std::vector<std::string> choices);
CLI::Validator from_to(int least, int most);

// For commands that have these options and no RunRequest.
void add_simulation_option(CLI::App& command, MachineOptions& options);
void add_devices_option(CLI::App& command, MachineOptions& options);
void add_suite_arguments(CLI::App& command, std::vector<std::string>& typed,
                         const std::vector<std::string>& names);

// What follows `--` on the command line; nullopt: there is no `--`.
using AfterDashes = std::optional<std::vector<std::string>>;

// Completes the request with the directory where proctor was started, the user's file, and the command after `--`.
Result<void> complete(RunRequest& request, const AfterDashes& after_dashes);
Result<void> complete(ConfigOptions& config);

}  // namespace proctor
