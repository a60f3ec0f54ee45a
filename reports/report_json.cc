#include "reports/report_json.h"

#include <fmt/core.h>

#include <cmath>

#include "harness/core/json.h"
#include "harness/core/text.h"
#include "reports/exit_code.h"
#include "reports/failure_summary.h"

namespace proctor {
namespace {

using Json = nlohmann::ordered_json;

Json strings(const std::vector<std::string>& values) {
  Json array = Json::array();
  for (const std::string& value : values) array.push_back(clean_text(value));
  return array;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// JSON has no word for NaN and infinity; null says that the number is none.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json fact_json(const StackFact& fact) {
  const Json unknown;
  return {{"name", clean_text(fact.name)},
          {"value", fact.value ? Json(clean_text(*fact.value)) : unknown},
          {"source", clean_text(fact.source)},
          {"reason", fact.value ? unknown : Json(clean_text(fact.reason))}};
}

Json device_json(const PlannedDevice& device) {
  return {{"id", clean_text(device.id)},         {"backend", clean_text(device.backend)},
          {"name", clean_text(device.name)},     {"simulated", device.simulated},
          {"uuid", clean_text(device.uuid)},     {"pci", clean_text(device.pci)},
          {"pci_id", clean_text(device.pci_id)}, {"capability", clean_text(device.capability)}};
}

Json run_json(const RunModel& model) {
  const RunPlanned& plan = model.plan();
  Json run;
  run["id"] = clean_text(plan.run_id);
  run["started"] = clean_text(plan.started);
  run["finished"] = nullptr;  // the runner was killed
  if (model.ended()) run["finished"] = clean_text(model.ended()->finished);
  run["simulated"] = model.simulated();
  run["sim"] = nullptr;
  if (plan.sim) {
    run["sim"] = {{"topology", clean_text(plan.sim->topology)}, {"driver", clean_text(plan.sim->driver)}};
  }
  run["containment"] = clean_text(plan.containment.layer);
  run["exit_code"] = shell_exit_code(model);
  run["plan_digest"] = clean_text(plan.plan_digest);
  run["shard"] = nullptr;
  if (plan.shard) {
    run["shard"] = {{"index", plan.shard->index},
                    {"count", plan.shard->count},
                    {"planned", plan.shard->planned},
                    {"plan", clean_text(plan.shard->plan)}};
  }
  run["devices"] = Json::array();
  for (const PlannedDevice& device : plan.devices) run["devices"].push_back(device_json(device));
  run["stack"] = Json::object();
  for (const auto& [name, value] : plan.stack) run["stack"][clean_text(name)] = clean_text(value);
  run["fingerprint"] = Json::array();
  for (const StackFact& fact : plan.fingerprint) run["fingerprint"].push_back(fact_json(fact));
  return run;
}

Json summary_json(const Summary& summary) {
  Json json;
  json["planned"] = summary.planned();
  for (const Outcome outcome : kAllOutcomes) json[std::string(to_string(outcome))] = summary[outcome];
  return json;
}

Json failures_json(const std::vector<Failure>& failures) {
  Json array = Json::array();
  for (const Failure& f : failures) {
    array.push_back({{"rule", clean_text(f.rule)},
                     {"message", clean_text(f.message)},
                     {"file", clean_text(f.file)},
                     {"line", f.line},
                     {"expected", clean_text(f.expected)},
                     {"got", clean_text(f.got)},
                     {"device", clean_text(f.device)}});
  }
  return array;
}

Json measures_json(const std::vector<Measure>& measures) {
  Json array = Json::array();
  for (const Measure& m : measures) {
    array.push_back({{"name", clean_text(m.name)},
                     {"value", number(m.value)},
                     {"unit", clean_text(m.unit)},
                     {"n", m.n},
                     {"spread", number(m.spread)}});
  }
  return array;
}

Json termination_json(const Termination& termination) {
  Json strays = Json::array();
  for (const Stray& stray : termination.strays) {
    strays.push_back({{"pid", stray.pid}, {"command", clean_text(stray.command)}});
  }
  return {{"signal_sent", termination.signal_sent},
          {"forced", termination.forced},
          {"unreapable", termination.unreapable},
          {"kill_to_empty_ms", termination.kill_to_empty_ms},
          {"strays", std::move(strays)},
          {"left_by", strings(termination.left_by)},
          {"guard_lost", clean_text(termination.guard_lost)}};
}

Json diagnosis_json(const std::optional<Diagnosis>& diagnosis) {
  if (!diagnosis) return nullptr;
  return {{"rule", clean_text(diagnosis->rule)},
          {"class", clean_text(diagnosis->error_class)},
          {"problem", std::string(to_string(diagnosis->problem))},
          {"severity", clean_text(diagnosis->severity)},
          {"where", clean_text(diagnosis->where)},
          {"line", clean_text(diagnosis->line)},
          {"next", clean_text(diagnosis->next)},
          {"source", clean_text(diagnosis->source)},
          {"others", strings(diagnosis->others)},
          {"gaps", strings(diagnosis->gaps)}};
}

Json figures_json(const std::vector<TelemetryFigure>& figures) {
  Json array = Json::array();
  for (const TelemetryFigure& f : figures) {
    const auto value = [](const std::optional<double>& one) { return one ? number(*one) : Json(nullptr); };
    array.push_back({{"name", clean_text(f.name)},
                     {"unit", clean_text(f.unit)},
                     {"source", clean_text(f.source)},
                     {"samples", f.samples},
                     {"first", value(f.first)},
                     {"last", value(f.last)},
                     {"mean", value(f.mean)},
                     {"peak", value(f.peak)},
                     {"delta", value(f.delta)},
                     {"seen", strings(f.seen)},
                     {"note", clean_text(f.note)}});
  }
  return array;
}

Json telemetry_json(const TelemetryInfo& telemetry) {
  Json devices = Json::array();
  for (const DeviceTelemetry& device : telemetry.devices) {
    devices.push_back({{"device", clean_text(device.device)}, {"figures", figures_json(device.figures)}});
  }
  return {{"host", figures_json(telemetry.host)}, {"devices", std::move(devices)}};
}

// null: the variable is not set, which differs from an empty value.
Json environment_json(const std::vector<EnvironmentVariable>& environment) {
  Json json = Json::object();
  for (const EnvironmentVariable& variable : environment) {
    json[clean_text(variable.name)] = {
        {"value", variable.value ? Json(clean_text(*variable.value)) : Json(nullptr)},
        {"by", clean_text(variable.by)}};
  }
  return json;
}

Json ranks_json(const std::vector<RankEnd>& ranks) {
  Json array = Json::array();
  for (const RankEnd& rank : ranks) {
    array.push_back(
        {{"rank", rank.rank},
         {"devices", strings(rank.devices)},
         {"outcome", rank.verdict ? Json(to_string(rank.verdict->outcome)) : Json(nullptr)},
         {"reason", rank.verdict ? clean_text(rank.verdict->reason) : ""},
         {"exit", {{"code", or_null(rank.exit_code)}, {"signal", or_null(rank.exit_signal)}}},
         {"left", clean_text(rank.left)},
         {"ended_by_runner", rank.ended_by_runner},
         {"last_step", clean_text(rank.last_step)},
         {"environment", environment_json(rank.environment)},
         {"output",
          {{"log", clean_text(rank.log)}, {"bytes", rank.bytes}, {"dropped_bytes", rank.dropped_bytes}}}});
  }
  return array;
}

Json core_json(const CoreInfo& core) {
  if (core.file.empty()) return nullptr;
  return {{"file", clean_text(core.file)}, {"program", clean_text(core.program)}, {"bytes", core.bytes}};
}

Json attempt_json(const Attempt& attempt) {
  const AttemptEnded end = attempt.end.value_or(AttemptEnded{});
  const Verdict verdict = verdict_of(attempt);
  Json json;
  json["attempt"] = attempt.start.attempt;
  json["repeat"] = attempt.start.repeat;
  json["outcome"] = std::string(to_string(verdict.outcome));
  json["reason"] = clean_text(verdict.reason);
  json["marks"] = strings(end.marks);
  json["duration_ms"] = end.duration_ms;
  json["devices"] = strings(attempt.start.devices);
  json["environment"] = environment_json(attempt.start.environment);
  json["ranks"] = ranks_json(end.ranks);
  json["exit"] = {{"code", or_null(end.exit_code)}, {"signal", or_null(end.exit_signal)}};
  json["termination"] = termination_json(end.termination);
  json["output"] = {{"log", clean_text(attempt.start.log)},
                    {"bytes", end.output.bytes},
                    {"dropped_bytes", end.output.dropped_bytes},
                    {"lost", end.output.lost}};
  json["evidence"] = {{"file", clean_text(end.evidence.file)},
                      {"lines", strings(end.evidence.lines)},
                      {"duration_ms", end.evidence.duration_ms},
                      {"core", core_json(end.evidence.core)}};
  json["telemetry"] = telemetry_json(end.telemetry);
  json["last_step"] = clean_text(end.last_step);
  json["failures"] = failures_json(end.failures);
  json["diagnosis"] = diagnosis_json(end.diagnosis);
  return json;
}

// What the newest attempt that ended says about the check itself.
const AttemptEnded* newest_end(const CaseRecord& record) {
  const AttemptEnded* newest = nullptr;
  for (const Attempt& attempt : record.attempts) {
    if (attempt.end) newest = &*attempt.end;
  }
  return newest;
}

Json case_json(const RunModel& model, const CaseRecord& record) {
  const Verdict verdict = model.verdict(record);
  const AttemptEnded* newest = newest_end(record);
  const AttemptEnded none;
  const AttemptEnded& end = newest != nullptr ? *newest : none;
  Json json;
  json["id"] = clean_text(record.planned.id);
  json["suite"] = clean_text(record.planned.suite);
  json["backend"] = clean_text(record.planned.backend);
  json["outcome"] = std::string(to_string(verdict.outcome));
  json["reason"] = clean_text(verdict.reason);
  json["problem"] = std::string(to_string(blame_in(model, record)));
  json["marks"] = strings(model.marks(record));
  json["rule"] = clean_text(end.rule);
  json["source"] = clean_text(end.source);
  json["severity"] = clean_text(end.severity);
  json["measures"] = measures_json(end.measures);
  json["properties"] = Json::array();
  for (const auto& [name, value] : end.properties)
    json["properties"].push_back({{"name", clean_text(name)}, {"value", clean_text(value)}});
  json["simulated"] = model.simulated(record);
  json["devices"] = record.attempts.empty() ? Json::array() : strings(record.attempts.back().start.devices);
  json["duration_ms"] = duration_ms(record);
  json["known_failure"] = record.end ? clean_text(record.end->known_failure) : "";
  json["note"] = record.end ? clean_text(record.end->note) : "";
  json["message"] = verdict.outcome == Outcome::kPass ? "" : headline(model, record);
  json["attempts"] = Json::array();
  for (const Attempt& attempt : record.attempts) json["attempts"].push_back(attempt_json(attempt));
  return json;
}

Json health_json(const DeviceHealth& health) {
  return {{"device", clean_text(health.device)},
          {"what", clean_text(health.what)},
          {"case", clean_text(health.case_id)},
          {"at_ms", health.at_ms},
          {"wait_ms", health.wait_ms},
          {"bytes", health.bytes},
          {"evidence", clean_text(health.evidence)}};
}

Json warning_json(const Warning& warning) {
  return {{"code", clean_text(warning.code)}, {"text", clean_text(warning.text)}};
}

// As it stands in a document below `depth` others: no string of JSON has a newline of its own.
std::string indented(const Json& json, std::size_t depth) {
  const std::string text = json.dump(1);
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    out += c;
    if (c == '\n') out.append(depth, ' ');
  }
  return out;
}

std::string member(std::string_view name, const Json& json) {
  return fmt::format("\n \"{}\": {}", name, indented(json, 1));
}

// Written element by element: a tree of all cases takes ten times the memory of their text.
template <typename Element, typename ToJson>
void add_list(std::string& text, std::string_view name, const std::vector<Element>& elements,
              const ToJson& to_json) {
  text += fmt::format("\n \"{}\": [", name);
  for (const Element& element : elements) {
    text += text.back() == '[' ? "\n  " : ",\n  ";
    text += indented(to_json(element), 2);
  }
  text += elements.empty() ? "]" : "\n ]";
}

}  // namespace

std::string report_json(const RunModel& model) {
  std::string text = "{";
  text += member("schema_version", kReportSchemaVersion) + ",";
  text += member("run", run_json(model)) + ",";
  text += member("summary", summary_json(model.summary())) + ",";
  add_list(text, "cases", model.cases(), [&](const CaseRecord& record) { return case_json(model, record); });
  text += ",";
  add_list(text, "warnings", model.warnings(), warning_json);
  text += ",";
  add_list(text, "health", model.health(), health_json);
  text += "\n}\n";
  return text;
}

}  // namespace proctor
