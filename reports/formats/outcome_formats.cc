#include "reports/formats/outcome_formats.h"

namespace proctor {
namespace {

using enum Outcome;
using Of = MeaningOf;
using Junit = JunitElement;
using Ctrf = CtrfStatus;
using Level = AnnotationLevel;
using Span = SpanStatus;

constexpr OutcomeFormats kFormats[] = {
    {kPass, Of::kAll, Junit::kNone, Ctrf::kPassed, Level::kNone, Span::kOk},
    {kFail, Of::kAll, Junit::kFailure, Ctrf::kFailed, Level::kError, Span::kError},
    {kError, Of::kAll, Junit::kError, Ctrf::kFailed, Level::kError, Span::kError},
    {kTimeout, Of::kAll, Junit::kError, Ctrf::kFailed, Level::kError, Span::kError},
    {kStall, Of::kAll, Junit::kError, Ctrf::kFailed, Level::kError, Span::kError},
    {kCrash, Of::kAll, Junit::kError, Ctrf::kFailed, Level::kError, Span::kError},
    {kDeviceLost, Of::kAll, Junit::kError, Ctrf::kFailed, Level::kError, Span::kError},
    {kSkip, Of::kAll, Junit::kSkipped, Ctrf::kSkipped, Level::kNotice, Span::kUnset},
    {kXfail, Of::kAll, Junit::kSkipped, Ctrf::kSkipped, Level::kNotice, Span::kUnset},
    {kXpass, Of::kOurs, Junit::kFailure, Ctrf::kFailed, Level::kError, Span::kError},
    {kXpass, Of::kForeign, Junit::kSkipped, Ctrf::kOther, Level::kWarning, Span::kUnset},
    {kNotrun, Of::kElsewhere, Junit::kError, Ctrf::kOther, Level::kWarning, Span::kError},
    {kNotrun, Of::kMachine, Junit::kError, Ctrf::kOther, Level::kError, Span::kError},
};
static_assert(cover_every_verdict(kFormats), "an outcome has no row");

}  // namespace

std::span<const OutcomeFormats> outcome_formats() { return kFormats; }

const OutcomeFormats& formats_of(const Verdict& verdict, std::string_view kind) {
  return row_for(kFormats, verdict, kind);
}

std::string_view to_string(JunitElement element) {
  return name_in({"", "failure", "error", "skipped"}, element);
}

std::string_view to_string(CtrfStatus status) {
  return name_in({"passed", "failed", "skipped", "other"}, status);
}

std::string_view to_string(AnnotationLevel level) {
  return name_in({"", "notice", "warning", "error"}, level);
}

std::string_view to_string(SpanStatus status) { return name_in({"UNSET", "OK", "ERROR"}, status); }

std::string junit_type(Outcome outcome) { return "proctor." + std::string(to_string(outcome)); }

std::string_view span_result(const Verdict& verdict, std::string_view kind) {
  const SpanStatus status = formats_of(verdict, kind).span;
  if (status == SpanStatus::kUnset) return to_string(verdict.outcome);
  return status == SpanStatus::kOk ? "pass" : "fail";
}

}  // namespace proctor
