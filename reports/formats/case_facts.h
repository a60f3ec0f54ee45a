// What several JSON formats say of a case in the same words: what its runs on each device show, and what the history knows.
#pragma once

#include "reports/formats/json_writer.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// The members `by_device` and `history`, each only where there is something to say.
void write_case_facts(JsonWriter& json, const ResolvedCase& test);

}  // namespace proctor
