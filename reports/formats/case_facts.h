// What several JSON formats say of a case in the same words: what its runs on each device show, and what the history knows.
#pragma once

#include "reports/formats/json_writer.h"
#include "reports/model/run_model.h"

namespace proctor {

// The members `by_device` and `history`, each only where there is something to say.
void write_case_facts(JsonWriter& json, const RunModel& model, const CaseRecord& record);

}  // namespace proctor
