#include "reports/history/answer_json.h"

#include "reports/formats/json_writer.h"

namespace proctor {
namespace {

constexpr int kAnswerSchemaVersion = 1;

void write_run(JsonWriter& json, std::string_view key, const SeenRun& run) {
  json.open_object(key).member("id", run.run_id).member("started", run.started);
  json.member_if_any("commit", run.commit).member_if_any("branch", run.branch);
  if (run.dirty) json.member("dirty", true);
  json.objects_if_any("stack_changes", run.stack_changes, [](JsonWriter& out, const FactChange& fact) {
    out.member("fact", fact.name).member("before", fact.before.value_or("none"));
    out.member("after", fact.after.value_or("none"));
  });
  json.close();
}

void write_case(JsonWriter& json, const std::string& id, const Variant& variant) {
  json.member("case", id).open_object("variant").member("suite", variant.suite);
  json.member("backend", variant.backend).member_if_any("stack", variant.stack);
  json.member_if_any("device_model", variant.device_model).member("simulated", variant.simulated).close();
}

void write_outcome(JsonWriter& json, const SeenOutcome& outcome, const HistoryAnswer& answer) {
  json.member("outcome", to_string(outcome.verdict.outcome))
      .member_if_any("reason", outcome.verdict.reason.text());
  json.member("result_class", to_string(outcome.result_class)).member("attempts", outcome.attempts);
  if (outcome.flaky) json.member("flaky", true);
  json.member("duration_ms", outcome.duration_ms).member_if_any("device", outcome.device);
  json.member_if_any("cause", outcome.cause);
  write_run(json, "run", answer.runs[outcome.run]);
}

void write_failing(JsonWriter& json, const FailingCase& failing, const HistoryAnswer& answer) {
  write_case(json, failing.id, failing.variant);
  json.member("runs", failing.runs);
  write_run(json, "since", answer.runs[failing.since]);
  if (failing.passed) write_run(json, "passed", answer.runs[*failing.passed]);
  json.open_object("last");
  write_outcome(json, failing.last, answer);
  json.close();
}

void write_flaky(JsonWriter& json, const FlakyCase& flaky) {
  write_case(json, flaky.id, flaky.variant);
  const Flakiness& of = flaky.flakiness;
  json.member("runs", of.runs).member("inconsistent_runs", of.inconsistent_runs);
  json.member("rate", static_cast<double>(of.inconsistent_runs) / of.runs).member("low", of.low);
  json.member("high", of.high);
}

}  // namespace

void write_answer(const HistoryQuestion& question, const HistoryAnswer& answer, TextOutput& output) {
  JsonWriter json(output);
  json.open_object().member("schema_version", kAnswerSchemaVersion).member("branch", answer.branch);
  json.member("runs", answer.runs.size());
  if (!answer.runs.empty()) {
    write_run(json, "oldest", answer.runs.front());
    write_run(json, "newest", answer.runs.back());
  }
  const auto write_one = [&](JsonWriter& out, const SeenOutcome& outcome) {
    write_outcome(out, outcome, answer);
  };
  if (question.failing)
    json.objects("failing", answer.failing,
                 [&](JsonWriter& out, const FailingCase& failing) { write_failing(out, failing, answer); });
  if (question.flaky) json.objects("flaky", answer.flaky, write_flaky);
  if (question.outcomes)
    json.objects("cases", answer.outcomes, [&](JsonWriter& out, const CaseOutcomes& one) {
      write_case(out, one.id, one.variant);
      out.objects("outcomes", one.outcomes, write_one);
    });
  json.close();
  output.pending() += '\n';
  output.flush();
}

void write_answer(const DevicesAnswer& answer, TextOutput& output) {
  JsonWriter json(output);
  json.open_object().member("schema_version", kAnswerSchemaVersion).member("branch", nullptr);
  json.member("runs", answer.runs);
  json.objects("devices", answer.devices, [](JsonWriter& out, const DeviceHistory& device) {
    out.member("device", device.device).member("host", device.host).member_if_any("model", device.model);
    out.member("runs", device.runs).member("attempts", device.attempts);
    out.member("failed_attempts", device.failed_attempts).member("drains", device.drains);
    out.member("last_seen", device.last_seen).member_if_any("driver", device.driver);
  });
  json.close();
  output.pending() += '\n';
  output.flush();
}

}  // namespace proctor
