#include "reports/formats/case_lines.h"

#include <optional>

#include "reports/resolve/case_past.h"
#include "reports/resolve/devices.h"

namespace proctor {
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
