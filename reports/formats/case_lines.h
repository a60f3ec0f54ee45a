// Members that several JSON formats share.
#pragma once

#include "reports/formats/json_writer.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// The members `by_device` and `history`, each only where there is something to say.
void write_case_facts(JsonWriter& json, const ResolvedCase& test);
// Each writes the members of an open object.
void write_measure(JsonWriter& json, const Measure& measure);
void write_warning(JsonWriter& json, const Warning& warning);

}  // namespace proctor
