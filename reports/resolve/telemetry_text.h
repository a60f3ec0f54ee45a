// The telemetry of an attempt for people: one short line.
#pragma once

#include <string>

#include "harness/journal/events.h"

namespace proctor {

// "xpu:0000:03:00.0: memory up to 1.2 GiB, 97 % busy, 71 C, 280 W, held back by thermal_limit; host: 3.1 s
// CPU, 512 MiB"; what is not known is left out, "" when nothing is.
std::string telemetry_text(const TelemetryInfo& telemetry);

}  // namespace proctor
