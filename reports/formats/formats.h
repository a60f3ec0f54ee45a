// The report formats: what writes a ResolvedRun in each of them, the members that several JSON formats share, and what an
// outcome is in each. JUnit and the annotations of GitHub have headers of their own (junit.h, github.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "harness/journal/outcome_meaning.h"
#include "reports/formats/json_writer.h"
#include "reports/formats/markdown.h"
#include "reports/formats/text_output.h"
#include "reports/resolve/resolved_case.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// ctrf.json: the Common Test Report Format (ctrf.io), valid under its published schema, and written case by case. Its
// statuses are five; our outcome stands in `rawStatus`, and what CTRF has no word for in `extra.proctor`: reason, whose
// problem, marks, measures, rule, simulated, and the stack of the run.
void write_ctrf(const ResolvedRun& run, TextOutput& output);

// metrics.prom: the counts of a run as OpenMetrics text, for a file collector or a push gateway. By suite, backend and
// outcome; no names of cases, of which there are too many for a data base of time series.
void write_metrics(const ResolvedRun& run, TextOutput& output);

// otlp.json: the run as a trace of OpenTelemetry, in the JSON of its protocol (OTLP 1.x, ExportTraceServiceRequest), which
// collectors read from a file or over HTTP. The run is the first span, each attempt one below it, and a case that had none
// one without a length. Names of attributes are those of OpenTelemetry's semantic conventions where it has them
// (test.case.name, test.case.result.status, test.suite.name, vcs.*), ours begin with `proctor.`.
void write_otlp(const ResolvedRun& run, TextOutput& output);

// report.json (schema: reports/schema/report.schema.json). It only grows: readers ignore keys they do not know, and a
// key that a version of the schema requires is there for ever. One that none requires is left out where it would say
// nothing. It is written case by case, since the tree of all cases of a large run is larger than its journal.
inline constexpr int kReportSchemaVersion = 2;

void write_report_json(const ResolvedRun& run, TextOutput& output);
std::string report_json(const ResolvedRun& run);

// summary.md: what a person reads first, on a terminal or as the summary of a CI job. At most `limit` bytes;
// it says what it leaves out.
std::string summary_markdown(const ResolvedRun& run, std::size_t limit = kJobSummaryBytes);

// The same without its verdict, for a report that has another one (`proctor accept`).
std::string summary_of_cases(const ResolvedRun& run, std::size_t limit = kJobSummaryBytes);

// ---- Members that several JSON formats share ----

// The members `by_device` and `history`, each only where there is something to say.
void write_case_facts(JsonWriter& json, const ResolvedCase& test);
// Each writes the members of an open object.
void write_measure(JsonWriter& json, const Measure& measure);
void write_warning(JsonWriter& json, const Warning& warning);

// ---- Outcomes ----

// What an outcome is in each report format: a column a format. A new outcome is a new row, and does not compile without
// one; a new format is a new column. docs/reference/outcomes.md shows the table, and a test compares the page with it.
// harness/journal/outcome_meaning.h has the columns that the runner needs.

enum class JunitElement { kNone, kFailure, kError, kSkipped };
enum class CtrfStatus { kPassed, kFailed, kSkipped, kOther };
enum class AnnotationLevel { kNone, kNotice, kWarning, kError };
enum class SpanStatus { kUnset, kOk, kError };  // with the numbers of trace.proto: Status.StatusCode

struct OutcomeFormats {
  Outcome outcome;
  MeaningOf of;
  JunitElement junit;
  CtrfStatus ctrf;
  AnnotationLevel github;
  SpanStatus span;
};

// In the order of outcome_meanings().
std::span<const OutcomeFormats> outcome_formats();

// `kind`: of the suite of the case.
const OutcomeFormats& formats_of(const Verdict& verdict, std::string_view kind = {});
inline const OutcomeFormats& formats_of(const ResolvedCase& test) {
  return formats_of(test.verdict, test.planned.kind);
}

// "failure", "error", "skipped"; "" for none.
std::string_view to_string(JunitElement element);
std::string_view to_string(CtrfStatus status);
std::string_view to_string(AnnotationLevel level);  // "error"; "" for none
std::string_view to_string(SpanStatus status);

// "proctor.crash": the `type` of a JUnit element, and the start of the message of `skipped`.
std::string junit_type(Outcome outcome);

// The attribute test.case.result.status: `pass` and `fail` are words of OpenTelemetry, the others are ours.
std::string_view span_result(const Verdict& verdict, std::string_view kind = {});

}  // namespace proctor
