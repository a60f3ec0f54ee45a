// report.json (schema: reports/schema/report.schema.json). It only grows: readers ignore keys they do not know, and a
// key that a version of the schema requires is there for ever. One that none requires is left out where it would say
// nothing. It is written case by case, since the tree of all cases of a large run is larger than its journal.
#pragma once

#include <string>

#include "reports/formats/text_output.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

inline constexpr int kReportSchemaVersion = 1;

void write_report_json(const ResolvedRun& run, TextOutput& output);
std::string report_json(const ResolvedRun& run);

}  // namespace proctor
