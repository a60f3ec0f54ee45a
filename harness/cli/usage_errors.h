// Converts CLI11's parse errors into Proctor's messages, because CLI11's texts differ between its versions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

// Returns the innermost command that the parser recognised before the mistake.
const CLI::App& innermost(const CLI::App& app);

// Replaces `help run` by `run --help`.
Result<void> turn_help(const CLI::App& app, std::vector<std::string>& arguments);

Error usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace proctor::cli
