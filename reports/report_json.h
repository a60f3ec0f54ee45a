// report.json (schema: reports/schema/report.schema.json). It only grows: readers
// ignore keys they do not know.
#pragma once

#include <string>

#include "reports/run_model.h"

namespace proctor {

inline constexpr int kReportSchemaVersion = 1;

std::string report_json(const RunModel& model);

}  // namespace proctor
