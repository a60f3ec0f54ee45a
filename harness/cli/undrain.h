// `proctor devices undrain`: gives a drained device cases again, because a person says so, or a probe.
#pragma once

#include <CLI/CLI.hpp>

#include "harness/cli/commands.h"

namespace proctor::cli {

void add_undrain_command(CLI::App& devices, Action& action);

}  // namespace proctor::cli
