// What is said of a command line that CLI11 refuses: a sentence of ours, because its own differ between its versions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

// The innermost command that was recognised before the parser met the mistake.
const CLI::App& innermost(const CLI::App& app);

// `help run` becomes `run --help`.
Result<void> turn_help(const CLI::App& app, std::vector<std::string>& arguments);

Error usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace proctor::cli
