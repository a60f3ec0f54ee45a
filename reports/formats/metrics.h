// metrics.prom: the counts of a run as OpenMetrics text, for a file collector or a push gateway. By suite, backend and
// outcome; no names of cases, of which there are too many for a data base of time series.
#pragma once

#include "reports/formats/text_output.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

void write_metrics(const ResolvedRun& run, TextOutput& output);

}  // namespace proctor
