// otlp.json: the run as a trace of OpenTelemetry, in the JSON of its protocol (OTLP 1.x, ExportTraceServiceRequest), which
// collectors read from a file or over HTTP. The run is the first span, each attempt one below it, and a case that had none
// one without a length. Names of attributes are those of OpenTelemetry's semantic conventions where it has them
// (test.case.name, test.case.result.status, test.suite.name, vcs.*), ours begin with `proctor.`.
#pragma once

#include "reports/formats/text_output.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

void write_otlp(const ResolvedRun& run, TextOutput& output);

}  // namespace proctor
