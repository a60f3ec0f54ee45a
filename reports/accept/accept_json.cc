#include "reports/accept/accept_json.h"

#include "reports/formats/json_writer.h"

namespace proctor {
namespace {

void write_finding(JsonWriter& json, const AcceptFinding& finding) {
  json.open_object().member("step", finding.step).member("words", finding.words);
  json.member("action", to_string(finding.rule.action)).member_if_any("case", finding.case_id);
  json.member_if_any("code", finding.code).member_if_any("evidence", finding.evidence).close();
}

void write_step(JsonWriter& json, const AcceptStepResult& result) {
  json.open_object().member("name", result.step->name).member("proves", result.step->proves);
  json.member("state", to_string(result.state)).member("required", result.step->required);
  json.member_if_any("gap", result.gap).member("covered_percent", result.covered_percent);
  json.member("passed", result.passed).member("failed", result.failed).member("undecided", result.undecided);
  json.member("skipped", result.skipped)
      .member("not_run", result.not_run)
      .member("seconds", static_cast<double>(result.ms) / 1000);
  json.open_object("why");
  std::map<std::string, int> why = result.why_skipped;
  for (const auto& [reason, cases] : result.why_not_run) why[reason] += cases;
  for (const auto& [reason, cases] : why) json.member(reason.empty() ? "no reason" : reason, cases);
  json.close().close();
}

void write_figure(JsonWriter& json, const AcceptFigure& figure) {
  json.open_object().member("name", figure.name).member("unit", figure.unit).member("value", figure.value);
  json.member("n", figure.n).member("spread", figure.spread).member("floor", figure.floor);
  json.member("best_of_model", figure.best);
  json.member("verdict", figure.low ? "low" : figure.judged() ? "good" : "insufficient").close();
}

void write_facts(JsonWriter& json, const char* when, const FactsOfCards& facts, const std::string& id) {
  const auto card = facts.find(id);
  if (card == facts.end()) return;
  json.open_object(when);
  for (const auto& [key, value] : card->second.values) {
    if (value.is_string()) {
      json.member(key, value.get<std::string>());
    } else if (value.is_boolean()) {
      json.member(key, value.get<bool>());
    } else if (value.is_number()) {
      json.member(key, value.get<double>());
    }
  }
  json.open_object("missing");
  for (const auto& [key, why] : card->second.missing) json.member(key, why);
  json.close().close();
}

void write_device(JsonWriter& json, const AcceptedDevice& device, const AcceptQuestion& question) {
  json.open_object().member("id", device.id).member("model", device.model).member_if_any("uuid", device.uuid);
  json.member_if_any("pci", device.pci).member_if_any("next", device.next);
  json.member("verdict", to_string(device.verdict)).member("reason", device.reason());
  const bool rejected = !device.findings.empty();
  json.member("action",
              rejected ? std::optional(to_string(device.findings.front().rule.action)) : std::nullopt);
  json.open_array("findings");
  for (const AcceptFinding& finding : device.findings) write_finding(json, finding);
  json.close().member("gaps", device.gaps).open_array("steps");
  for (const AcceptStepResult& result : device.steps) write_step(json, result);
  json.close().open_array("figures");
  for (const AcceptFigure& figure : device.figures) write_figure(json, figure);
  json.close().open_object("facts");
  write_facts(json, "before", question.before, device.id);
  write_facts(json, "after", question.after, device.id);
  json.close().close();
}

}  // namespace

std::string accept_json(const Acceptance& acceptance, const AcceptQuestion& question,
                        const std::string& run_dir) {
  std::string text;
  {
    TextOutput output([&text](std::string_view piece) { text += piece; });
    JsonWriter json(output);
    json.open_object().member("format", 1).member("verdict", to_string(acceptance.verdict));
    json.member("exit_code", exit_code(acceptance)).member("level", acceptance.level);
    json.member("run_id", acceptance.run_id).member("host", acceptance.host);
    json.member("command_line", acceptance.command_line).member("duration_ms", acceptance.duration_ms);
    json.member("simulated", acceptance.simulated).member("run", run_dir);
    json.member("expected", question.expected ? std::optional(question.expected->file) : std::nullopt);
    json.member("gaps", acceptance.gaps);
    json.member("left_out", acceptance.left_out).member("problems", acceptance.problems);
    json.member("not_tried", acceptance.not_tried);
    json.open_array("devices");
    for (const AcceptedDevice& device : acceptance.devices) write_device(json, device, question);
    json.close().close();
  }
  return text + "\n";
}

}  // namespace proctor
