// Writes the answers to history questions as JSON. Its schema is
// reports/schema/history.schema.json. `proctor history` uses it.
#pragma once

#include "reports/formats/text_output.h"
#include "reports/history/questions.h"

namespace proctor {

// The JSON has those of the members `failing`, `flaky` and `cases` that the question requests.
void write_answer(const HistoryQuestion& question, const HistoryAnswer& answer, TextOutput& output);

void write_answer(const DevicesAnswer& answer, TextOutput& output);

}  // namespace proctor
