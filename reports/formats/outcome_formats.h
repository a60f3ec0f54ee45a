// What an outcome is in each report format: a column a format. A new outcome is a new row, and does not compile without
// one; a new format is a new column. docs/reference/outcomes.md shows the table, and a test compares the page with it.
// harness/journal/outcome_meaning.h has the columns that the runner needs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/resolved_case.h"

namespace proctor {

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
