// The end of `proctor accept` on the console: the verdict in one line, a table of devices and steps, speeds as bars, and the
// reasons. Each part is a table at any width. A table of 8 devices and 15 steps fits into 120 columns.
#pragma once

#include <cstddef>
#include <string>

#include "reports/accept/accept_report.h"

namespace proctor {

inline constexpr std::size_t kUsualColumns = 120;  // of output to a file or pipe

// "level 1 · 4.8 s · host vm · simulated: no evidence about hardware · exit 1 (rejected)".
std::string accept_meta_line(const AcceptReport& report);

// A row for each device, with a sign for each step, the verdict and the action; then what the signs mean. Names of steps that
// do not fit into `columns` become letters.
std::string accept_step_table(const AcceptReport& report, std::size_t columns);

// Speeds of the devices of each model as bars of one scale, beside floor and best device; "" without any.
std::string accept_speed_table(const AcceptReport& report, std::size_t columns);

// A paragraph for each device that is not accepted, then what was not tried, and what could not be judged.
std::string accept_reasons(const AcceptReport& report, std::size_t columns);

}  // namespace proctor
