#include "reports/formats/formats.h"

#include <optional>

#include "reports/resolve/case_past.h"
#include "reports/resolve/devices.h"

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

namespace {

void write_device_row(JsonWriter& json, const DeviceRow& row) {
  const bool by_chance = row.suspect == Suspect::kDevice || row.suspect == Suspect::kUnclear;
  json.open_object("by_device").member("suspect", to_string(row.suspect)).member("devices", row.devices);
  json.member("p", by_chance ? std::optional(row.p) : std::nullopt);
  json.member("text", conclusion(row)).objects("counts", row.counts, [](JsonWriter& out, const auto& entry) {
    const auto& [device, count] = entry;
    out.member("device", device).member("attempts", count.bad + count.good);
    out.member("failed_attempts", count.bad);
  });
  json.close();
}

void write_case_past(JsonWriter& json, const CasePast& past) {
  json.open_object("history").member("new", is_new(past)).member("runs", past.runs);
  json.member("failing_runs", past.failing_runs).member("flaky_runs", past.flaky_runs);
  json.member_or_null("since", past.since).member_or_null("passed", past.passed).close();
}

}  // namespace

void write_case_facts(JsonWriter& json, const ResolvedCase& test) {
  if (const auto& row = test.by_device) write_device_row(json, *row);
  if (const CasePast* past = test.past) write_case_past(json, *past);
}

void write_measure(JsonWriter& json, const Measure& measure) {
  json.member("name", measure.name).member("value", measure.value).member("unit", measure.unit);
  json.member("n", measure.n).member("spread", measure.spread);
}

void write_warning(JsonWriter& json, const Warning& warning) {
  json.member("code", warning.code.text()).member("text", warning.text);
}

}  // namespace proctor
