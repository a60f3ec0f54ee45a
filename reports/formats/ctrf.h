// ctrf.json: the Common Test Report Format (ctrf.io), valid under its published schema, and written case by case. Its
// statuses are five; our outcome stands in `rawStatus`, and what CTRF has no word for in `extra.proctor`: reason, whose
// problem, marks, measures, rule, simulated, and the stack of the run.
#pragma once

#include "reports/formats/text_output.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

void write_ctrf(const ResolvedRun& run, TextOutput& output);

}  // namespace proctor
