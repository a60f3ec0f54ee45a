// The report formats: their writers, the members that several JSON formats share, and the representation of each
// outcome in each format. JUnit and the annotations of GitHub have their own headers (junit.h, github.h).
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

// Writes ctrf.json in the Common Test Report Format (ctrf.io), valid under its published schema. Cases are written one
// by one. CTRF has five statuses, so `rawStatus` has the outcome. `extra.proctor` has the facts without a CTRF member:
// reason, owner, marks, measures, rule, simulated, and the stack of the run.
void write_ctrf(const ResolvedRun& run, TextOutput& output);

// Writes metrics.prom, the counts of a run as OpenMetrics text, for a file collector or a push gateway. The labels are
// suite, backend and outcome. Names of cases are omitted, because they are too many for a time series database.
void write_metrics(const ResolvedRun& run, TextOutput& output);

// Writes otlp.json, the run as a trace of OpenTelemetry in the JSON of its protocol (OTLP 1.x,
// ExportTraceServiceRequest). Collectors read it from a file or over HTTP. The run is the root span, and each attempt
// is a child span. A case without an attempt has a span of zero length. Attributes have the names of OpenTelemetry's
// semantic conventions where these exist (test.case.name, test.case.result.status, test.suite.name, vcs.*). Other names
// begin with `proctor.`.
void write_otlp(const ResolvedRun& run, TextOutput& output);

// report.json (schema: reports/schema/report.schema.json). It only grows: readers ignore unknown keys, and a key that a
// version of the schema requires is never removed. An optional key without information is omitted. Cases are written
// one by one, because the tree of all cases of a large run is larger than its journal.
inline constexpr int kReportSchemaVersion = 2;

void write_report_json(const ResolvedRun& run, TextOutput& output);
std::string report_json(const ResolvedRun& run);

// Returns summary.md, the first text to read on a terminal or as the summary of a CI job. It has at most `limit` bytes,
// and states the number of omitted entries.
std::string summary_markdown(const ResolvedRun& run, std::size_t limit = kJobSummaryBytes);

// The same without the verdict, for a report with another verdict (`proctor accept`).
std::string summary_of_cases(const ResolvedRun& run, std::size_t limit = kJobSummaryBytes);

// ---- Members that several JSON formats share ----

// Writes the members `by_device` and `history`. A member without information is omitted.
void write_case_facts(JsonWriter& json, const ResolvedCase& test);
// Each of these writes the members of an open object.
void write_measure(JsonWriter& json, const Measure& measure);
void write_warning(JsonWriter& json, const Warning& warning);

// ---- Outcomes ----

// The representation of each outcome, with one column for each format. A new outcome without a row does not compile. A
// new format is a new column. docs/reference/outcomes.md shows the table, and a test compares that page with it.
// harness/journal/outcome_meaning.h has the columns that the runner needs.

enum class JunitElement { kNone, kFailure, kError, kSkipped };
enum class CtrfStatus { kPassed, kFailed, kSkipped, kOther };
enum class AnnotationLevel { kNone, kNotice, kWarning, kError };
enum class SpanStatus { kUnset, kOk, kError };  // the numbers of Status.StatusCode in trace.proto

// One row of the table: the representation of an outcome in each format.
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

// `kind` is the kind of the case's suite.
const OutcomeFormats& formats_of(const Verdict& verdict, std::string_view kind = {});
inline const OutcomeFormats& formats_of(const ResolvedCase& test) {
  return formats_of(test.verdict, test.planned.kind);
}

// Returns "failure", "error", "skipped"; "" for none.
std::string_view to_string(JunitElement element);
std::string_view to_string(CtrfStatus status);
std::string_view to_string(AnnotationLevel level);  // "error"; "" for none
std::string_view to_string(SpanStatus status);

// Returns "proctor.crash": the `type` of a JUnit element, and the start of the message of `skipped`.
std::string junit_type(Outcome outcome);

// Returns the attribute test.case.result.status. OpenTelemetry defines only `pass` and `fail`; Proctor adds the others.
std::string_view span_result(const Verdict& verdict, std::string_view kind = {});

}  // namespace proctor
