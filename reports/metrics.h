// metrics.prom: the counts of a run as OpenMetrics text, for a file collector or a push gateway. By suite, backend and
// outcome; no names of cases, of which there are too many for a data base of time series.
#pragma once

#include "reports/run_model.h"
#include "reports/text_output.h"

namespace proctor {

void write_metrics(const RunModel& model, TextOutput& output);

}  // namespace proctor
