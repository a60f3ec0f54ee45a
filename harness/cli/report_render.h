// Rebuilds the reports of a run directory from its journal; for `report render` and `finish`.
#pragma once

#include <string>

namespace proctor::cli {

// Prints the summary and where the reports are. 0, or 2 when there is no readable journal.
int render_again(const std::string& run_dir);

}  // namespace proctor::cli
