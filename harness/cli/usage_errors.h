// What is said of a command line that CLI11 refuses: a sentence of ours, because its own differ between its versions.
#pragma once

#include <CLI/CLI.hpp>

#include "harness/core/result.h"

namespace proctor::cli {

// The innermost command that was recognised before the parser met the mistake.
const CLI::App& innermost(const CLI::App& app);

Error usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace proctor::cli
