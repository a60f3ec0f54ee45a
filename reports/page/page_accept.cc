// The acceptance section, which is first on the page of `proctor accept`. Each sign and each bar has a text for screen
// readers and for pages without styles.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/page/page_sections.h"
#include "reports/page/page_template.h"
#include "reports/page/page_text.h"
#include "reports/resolve/log_text.h"

namespace proctor {
namespace {

using nlohmann::json;

// Limits of the section; accept.json is complete.
constexpr std::size_t kMostDeviceRows = 256;
constexpr std::size_t kMostSteps = 40;
constexpr std::size_t kMostWideSteps = 8;  // the headings of more steps are vertical
constexpr std::size_t kMostFindings = 20;
constexpr std::size_t kMostFigures = 60;
constexpr std::size_t kMostColumns = 16;  // devices of one model, shown as columns
constexpr std::size_t kMostOpenLines = 40;

std::string_view style_of(StepState state) {
  constexpr std::array<std::string_view, kStepStates> kStateStyles = {"passed", "failed", "flaky", "skipped"};
  return kStateStyles[static_cast<std::size_t>(state)];
}

// Returns the first characters, which identify a device for people: "GPU-47d38ec8".
std::string cut_uuid(const std::string& uuid) {
  constexpr std::size_t kBegin = 12;
  return uuid.size() > kBegin ? uuid.substr(0, kBegin) : uuid;
}

std::string place_of_reason(std::size_t run, std::size_t device) {
  return fmt::format("why-{}-{}", run, device);
}

// ---- Devices and steps ----

json sign_fields(const AcceptedDevice& device, const std::vector<std::string>& steps,
                 const std::string& reason) {
  return first_of(steps, kMostSteps, [&](const std::string& name) {
    const AcceptStepResult* step = find_step(device, name);
    if (step == nullptr) return json{{"step", name}, {"word", "not a step of this device"}};
    const bool has_reason = step->state == StepState::kFailed && device.verdict != RunVerdict::kPassed;
    return json{{"step", name},
                {"look", style_of(step->state)},
                {"sign", sign_of(step->state)},
                {"word", to_string(step->state)},
                {"gap", step->gap},
                {"href", has_reason ? "#" + reason : ""}};
  });
}

json matrix_of(const AcceptReport& report, std::size_t run) {
  const auto steps = step_names(report);
  const ShortIds ids = short_ids(report);
  json rows = json::array();
  for (std::size_t i = 0; i < std::min(report.devices.size(), kMostDeviceRows); ++i) {
    const AcceptedDevice& device = report.devices[i];
    json row = {{"id", ids.at(&device)},
                {"model", device.model},
                {"pci", device.pci},
                {"uuid", cut_uuid(device.uuid)},
                {"signs", sign_fields(device, steps, place_of_reason(run, i))},
                {"action", device.action}};
    row["badge"] = badge_of(device.verdict);
    rows.push_back(std::move(row));
  }
  return {{"steps", first_of(steps, kMostSteps,
                             [](const std::string& name) {
                               return json::object({{"step", name}});
                             })},
          {"rows", rows},
          {"narrow", steps.size() > kMostWideSteps},
          {"more", beyond(report.devices.size(), kMostDeviceRows)}};
}

// ---- Speeds ----

// Returns a percentage of the scale, 0 to 100.
std::string share_text(double value, double most) {
  return fmt::format("{:.1f}", most > 0 ? std::clamp(100 * value / most, 0.0, 100.0) : 0.0);
}

json tick(const std::optional<double>& value, double most) {
  return value ? json::object({{"x", share_text(*value, most)}}) : json();
}

std::string bound_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "";
}

json bars_of(const ModelFigures& model, const ShortIds& ids, const FigureRow& row) {
  json cells = json::array();
  for (std::size_t i = 0; i < std::min(row.values.size(), kMostColumns); ++i) {
    const AcceptFigure* figure = row.values[i];
    json cell = {{"device", ids.at(model.devices[i])}};
    if (figure != nullptr) {
      cell["bar"] = {{"width", share_text(figure->value, row.most)},
                     {"look", figure->low ? "failed" : "passed"},
                     {"floor", tick(figure->floor, row.most)},
                     {"best", tick(figure->best, row.most)}};
      cell["value"] = fmt::format("{:.4g}", figure->value);
      cell["low"] = figure->low;
    }
    cells.push_back(std::move(cell));
  }
  return {{"figure", row.name},
          {"unit", row.unit},
          {"cells", cells},
          {"floor_text", bound_text(row.floor)},
          {"best_text", bound_text(row.best)}};
}

json speed_fields(const AcceptReport& report) {
  const ShortIds ids = short_ids(report);
  return first_of(figures_by_model(report), kMostColumns, [&](const ModelFigures& model) {
    return json{{"model", model.model},
                {"devices", first_of(model.devices, kMostColumns,
                                     [&](const AcceptedDevice* device) {
                                       return json::object({{"device", ids.at(device)}});
                                     })},
                {"more", beyond(model.devices.size(), kMostColumns)},
                {"rows", first_of(model.rows, kMostFigures,
                                  [&](const FigureRow& row) { return bars_of(model, ids, row); })}};
  });
}

// ---- Reasons ----

json finding_fields(const AcceptFinding& finding, const std::optional<std::string>& link) {
  const bool has_file = link && is_below_run_directory(finding.evidence);
  return {{"words", finding.words},
          {"case_id", finding.case_id},
          {"case_href", finding.case_id.empty() ? "" : "#case=" + state_value(finding.case_id)},
          {"evidence", has_file ? finding.evidence : ""},
          {"href", has_file ? *link + file_address(finding.evidence) : ""}};
}

json reason_fields(const AcceptedDevice& device, const std::string& place,
                   const std::optional<std::string>& link) {
  json fields = {{"place", place},
                 {"id", device.id},
                 {"model", device.model},
                 {"pci", device.pci},
                 {"uuid", device.uuid}};
  fields["badge"] = badge_of(device.verdict);
  const auto& findings = device.findings;
  if (!findings.empty()) fields["finding"] = finding_fields(findings.front(), link);
  if (findings.size() > 1) {
    const std::vector<AcceptFinding> others(findings.begin() + 1, findings.end());
    fields["others"] = {
        {"count", others.size()},
        {"findings", first_of(others, kMostFindings,
                              [&](const AcceptFinding& one) { return finding_fields(one, link); })},
        {"more", beyond(others.size(), kMostFindings)}};
  }
  fields["gaps"] = said_lines(device.gaps, kMostOpenLines);
  fields["action"] = device.action;
  const bool is_command = device.next.starts_with("proctor ");
  fields[is_command ? "command" : "next_step"] = device.next;
  return fields;
}

json reasons_fields(const PageRun& run, std::size_t number) {
  json list = json::array();
  const auto& devices = run.accept.report->devices;
  for (std::size_t i = 0; i < std::min(devices.size(), kMostDeviceRows); ++i) {
    if (devices[i].verdict == RunVerdict::kPassed) continue;
    list.push_back(reason_fields(devices[i], place_of_reason(number, i), run.link));
  }
  return listed(std::move(list));
}

json fact_fields(const AcceptReport& report) {
  PageTable table({"Device", "Fact", "Before the load", "After"}, 200'000);
  for (const AcceptedDevice& device : report.devices) {
    for (const ChangedFact& fact : changed_facts(device))
      table.add({plain_id(device.id), code_cell(fact.name), fact.before, fact.after});
  }
  const json view = table.view();
  return view.is_null() ? json() : json::object({{"table", view}});
}

json open_fields(const AcceptReport& report) {
  std::vector<std::string> lines;
  for (const auto& [label, text] : open_points(report)) lines.push_back(fmt::format("{}: {}", label, text));
  return lines.empty() ? json() : json::object({{"lines", said_lines(lines, kMostOpenLines)}});
}

json acceptance_of(const PageRun& run, std::size_t number) {
  if (!run.accept.report) return nullptr;
  const AcceptReport& report = *run.accept.report;
  return {{"matrix", matrix_of(report, number)},
          {"speeds", speed_fields(report)},
          {"reasons", reasons_fields(run, number)},
          {"facts", fact_fields(report)},
          {"open", open_fields(report)}};
}

}  // namespace

json acceptance_section(const PageView& view) { return of_each_run(view, acceptance_of); }

const AcceptReport* acceptance_of_page(const PageRequest& request) {
  const bool is_one = request.runs.size() == 1 && gate_of_page(request) == nullptr;
  return is_one && request.runs.front().accept.report ? &*request.runs.front().accept.report : nullptr;
}

json details_section(const PageView& view) {
  if (acceptance_of_page(view.request) == nullptr) return nullptr;
  return json::object({{"cases", count_text(view.tally.summary.planned(), "case")}});
}

}  // namespace proctor
