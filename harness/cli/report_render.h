// What the subcommands of `report` share with each other and with `finish`.
#pragma once

#include <string>

#include "harness/cli/commands.h"

namespace proctor::cli {

// Prints the summary and where the reports are. Returns 0, or 2 when there is no readable journal.
int render_again(const std::string& run_dir);

void add_report_github(CLI::App& report, Action& action);  // report github
void add_report_merge(CLI::App& report, Action& action);   // report merge

}  // namespace proctor::cli
