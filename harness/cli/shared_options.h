// Options that several commands share, and the words behind `--`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/request/run_request.h"

namespace proctor::cli {

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

}  // namespace proctor::cli
