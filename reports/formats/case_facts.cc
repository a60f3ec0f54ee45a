#include "reports/formats/case_facts.h"

#include <optional>
#include <string>

#include "reports/resolve/case_past.h"
#include "reports/resolve/devices.h"

namespace proctor {
namespace {

void write_device_row(JsonWriter& json, const DeviceRow& row) {
  const bool by_chance = row.suspect == Suspect::kDevice || row.suspect == Suspect::kUnclear;
  json.open_object("by_device").member("suspect", to_string(row.suspect)).member("devices", row.devices);
  json.member("p", by_chance ? std::optional(row.p) : std::nullopt);
  json.member("text", conclusion(row)).open_array("counts");
  for (const auto& [device, count] : row.counts) {
    json.open_object().member("device", device).member("attempts", count.bad + count.good);
    json.member("failed_attempts", count.bad).close();
  }
  json.close().close();
}

void write_case_past(JsonWriter& json, const CasePast& past) {
  const auto known = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  json.open_object("history").member("new", is_new(past)).member("runs", past.runs);
  json.member("failing_runs", past.failing_runs).member("flaky_runs", past.flaky_runs);
  json.member("since", known(past.since)).member("passed", known(past.passed)).close();
}

}  // namespace

void write_case_facts(JsonWriter& json, const ResolvedCase& test) {
  if (const auto& row = test.by_device) write_device_row(json, *row);
  if (const CasePast* past = test.past) write_case_past(json, *past);
}

}  // namespace proctor
