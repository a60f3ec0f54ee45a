// Options that several commands share, and the command after `--`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/request/run_request.h"

namespace proctor::cli {

// Validators for CLI11. The text of CLI11's own validators differs between its versions.
CLI::Validator one_of(std::vector<std::string> choices);
CLI::Validator from_to(int least, int most);

// For commands that have these options but no RunRequest.
void add_simulation_option(CLI::App& command, MachineOptions& options);
void add_devices_option(CLI::App& command, MachineOptions& options);
void add_suite_arguments(CLI::App& command, std::vector<std::string>& typed,
                         const std::vector<std::string>& names);

// The words after `--` on the command line; nullopt without `--`.
using AfterDashes = std::optional<std::vector<std::string>>;

// Adds to the request the directory where proctor was started, the path of the user's file, and the command after `--`.
Result<void> complete(RunRequest& request, const AfterDashes& after_dashes);
Result<void> complete(ConfigOptions& config);

}  // namespace proctor::cli
