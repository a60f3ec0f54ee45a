// What a history answers, as JSON (reports/schema/history.schema.json).
#pragma once

#include "reports/formats/text_output.h"
#include "reports/history/questions.h"

namespace proctor {

// With those of `failing`, `flaky` and `cases` that the question asked for.
void write_answer(const HistoryQuestion& question, const HistoryAnswer& answer, TextOutput& output);

void write_answer(const DevicesAnswer& answer, TextOutput& output);

}  // namespace proctor
