#include "reports/history/answer_json.h"

#include "reports/formats/json_writer.h"

namespace proctor {
namespace {

constexpr int kSchemaVersion = 1;

void write_run(JsonWriter& json, std::string_view key, const SeenRun& run) {
  json.open_object(key).member("id", run.run_id).member("started", run.started);
  json.member_if_any("commit", run.commit).member_if_any("branch", run.branch);
  if (run.dirty) json.member("dirty", true);
  if (!run.moved.empty()) json.open_array("moved");
  for (const FactChange& fact : run.moved) {
    json.open_object().member("fact", fact.name).member("before", fact.before.value_or("none"));
    json.member("after", fact.after.value_or("none")).close();
  }
  if (!run.moved.empty()) json.close();
  json.close();
}

void write_case(JsonWriter& json, const std::string& id, const Variant& variant) {
  json.open_object().member("case", id).open_object("variant").member("suite", variant.suite);
  json.member("backend", variant.backend).member_if_any("stack", variant.stack);
  json.member_if_any("device_model", variant.device_model).member("simulated", variant.simulated).close();
}

void write_outcome(JsonWriter& json, const SeenOutcome& outcome, const HistoryAnswer& answer) {
  json.member("outcome", to_string(outcome.verdict.outcome))
      .member_if_any("reason", outcome.verdict.reason.text());
  json.member("standing", to_string(outcome.standing)).member("attempts", outcome.attempts);
  if (outcome.flaky) json.member("flaky", true);
  json.member("duration_ms", outcome.duration_ms).member_if_any("device", outcome.device);
  json.member_if_any("cause", outcome.cause);
  write_run(json, "run", answer.runs[outcome.run]);
}

void write_failing(JsonWriter& json, const HistoryAnswer& answer) {
  json.open_array("failing");
  for (const FailingCase& failing : answer.failing) {
    write_case(json, failing.id, failing.variant);
    json.member("runs", failing.runs);
    write_run(json, "since", answer.runs[failing.since]);
    if (failing.good) write_run(json, "good", answer.runs[*failing.good]);
    json.open_object("last");
    write_outcome(json, failing.last, answer);
    json.close().close();
  }
  json.close();
}

void write_flaky(JsonWriter& json, const HistoryAnswer& answer) {
  json.open_array("flaky");
  for (const FlakyCase& flaky : answer.flaky) {
    write_case(json, flaky.id, flaky.variant);
    const Flakiness& of = flaky.flakiness;
    json.member("runs", of.runs).member("disagreeing", of.disagreeing);
    json.member("rate", static_cast<double>(of.disagreeing) / of.runs).member("low", of.low);
    json.member("high", of.high).close();
  }
  json.close();
}

void write_outcomes(JsonWriter& json, const HistoryAnswer& answer) {
  json.open_array("cases");
  for (const CaseOutcomes& one : answer.outcomes) {
    write_case(json, one.id, one.variant);
    json.open_array("outcomes");
    for (const SeenOutcome& outcome : one.outcomes) {
      json.open_object();
      write_outcome(json, outcome, answer);
      json.close();
    }
    json.close().close();
  }
  json.close();
}

}  // namespace

void write_answer(const HistoryQuestion& question, const HistoryAnswer& answer, TextOutput& output) {
  JsonWriter json(output);
  json.open_object().member("schema_version", kSchemaVersion).member("branch", answer.branch);
  json.member("runs", answer.runs.size());
  if (!answer.runs.empty()) {
    write_run(json, "oldest", answer.runs.front());
    write_run(json, "newest", answer.runs.back());
  }
  if (question.failing) write_failing(json, answer);
  if (question.flaky) write_flaky(json, answer);
  if (question.outcomes) write_outcomes(json, answer);
  json.close();
  output.pending() += '\n';
  output.flush();
}

void write_answer(const DevicesAnswer& answer, TextOutput& output) {
  JsonWriter json(output);
  json.open_object().member("schema_version", kSchemaVersion).member("branch", nullptr);
  json.member("runs", answer.runs).open_array("devices");
  for (const DeviceHistory& device : answer.devices) {
    json.open_object().member("device", device.device).member("host", device.host);
    json.member_if_any("model", device.model).member("runs", device.runs).member("attempts", device.attempts);
    json.member("failed_attempts", device.failed_attempts).member("drains", device.drains);
    json.member("last_seen", device.last_seen).member_if_any("driver", device.driver).close();
  }
  json.close().close();
  output.pending() += '\n';
  output.flush();
}

}  // namespace proctor
