// The acceptance at the beginning of summary.md.
#pragma once

#include <string>

#include "reports/accept/accept_report.h"

namespace proctor {

// The verdict, a table of devices and steps, the reasons, and what was not tried. A section "Details" follows.
std::string accept_summary(const AcceptReport& report);

}  // namespace proctor
