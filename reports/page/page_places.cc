#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/page/page_sections.h"
#include "reports/page/page_template.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostEachDeviceBytes = 100'000;

// ---- Suites ----

// The results of one suite in one variant.
struct MatrixCell {
  std::size_t all = 0;
  StyleCounts styles{};
  int oldest = 0;                  // the longest sequence of failures of a case
  const PastRun* since = nullptr;  // the first run of that sequence
};

// Returns the run in which the current failures began; null if it is this run.
const PastRun* first_failing_run(const PageRun& run, const PageCase& shown) {
  const PastRun* first = nullptr;
  if (run.past == nullptr || shown.test.index >= run.past->cases.size()) return first;
  int left = shown.failing_runs() - 1;
  for (const PastOutcome& outcome : std::views::reverse(run.past->cases[shown.test.index])) {
    if (left == 0) break;
    if (outcome.result_class == ResultClass::kNotrun) continue;
    first = &run.past->runs[outcome.run];
    --left;
  }
  return first;
}

void count_case(const PageRequest& request, const PageCase& shown, MatrixCell& cell) {
  const ResolvedCase& test = shown.test;
  ++cell.all;
  ++cell.styles[counted_as(test)];
  if (test.result_class != ResultClass::kFailing || shown.failing_runs() <= cell.oldest) return;
  cell.oldest = shown.failing_runs();
  cell.since = first_failing_run(request.runs[shown.run], shown);
}

// A suite with only passes and known failures counts as passed.
json state_cell(const MatrixCell& cell) {
  const std::string_view worst = worst_style(cell.styles);
  const std::string_view style = worst == "known" ? "passed" : worst;
  return badge_cell(style, label_of_style(style));
}

// Returns a number with a link, or null for 0.
json count_cell(std::size_t count, const std::string& state) {
  return count == 0 ? json() : linked(count, state);
}

json first_failed(const MatrixCell& cell) {
  if (cell.oldest == 0) return nullptr;
  if (cell.since == nullptr) return "this run";
  return {{"text", time_text(cell.since->started)}, {"small", count_text(cell.oldest, "run")}};
}

json model_cell(const std::string& model, bool is_simulated) {
  if (!is_simulated) return model;
  return model.empty() ? json("simulated") : json{{"text", model}, {"small", "simulated"}};
}

std::vector<json> matrix_row(std::size_t place, const Variant& variant, MatrixCell& cell, bool has_past) {
  const std::string state = fmt::format("variant={}", place);
  std::vector<json> cells = {variant.suite,    variant.backend == "none" ? "" : variant.backend,
                             variant.stack,    model_cell(variant.device_model, variant.simulated),
                             state_cell(cell), count_cell(cell.all, state)};
  for (const std::string_view style : {"passed", "failed", "flaky", "known", "skipped", "notrun"})
    cells.push_back(count_cell(cell.styles[style], fmt::format("{}&look={}", state, style)));
  cells.push_back(has_past ? first_failed(cell) : json());
  return cells;
}

// ---- Devices ----

using Figures = std::map<std::string, TelemetryFigure>;

void add_figures(const std::vector<TelemetryFigure>& figures, Figures& peaks) {
  for (const TelemetryFigure& figure : figures) {
    if (!figure.peak && !figure.delta && figure.seen.empty()) continue;
    const auto [found, is_new] = peaks.try_emplace(figure.name, figure);
    if (is_new) continue;
    TelemetryFigure& peak = found->second;
    if (figure.peak) peak.peak = std::max(peak.peak.value_or(*figure.peak), *figure.peak);
    if (figure.mean) peak.mean = std::max(peak.mean.value_or(*figure.mean), *figure.mean);
    if (figure.delta) peak.delta = peak.delta.value_or(0) + *figure.delta;
    for (const std::string& seen : figure.seen) {
      if (std::ranges::find(peak.seen, seen) == peak.seen.end()) peak.seen.push_back(seen);
    }
  }
}

// Returns the highest figures of each device, over all attempts.
std::map<std::string, Figures> device_peaks(const ResolvedRun& run) {
  std::map<std::string, Figures> peaks;
  for (const ResolvedCase& test : run.cases) {
    for (const Attempt& attempt : test.attempts) {
      for (const DeviceTelemetry& device : attempt.telemetry().devices)
        add_figures(device.figures, peaks[device.device]);
    }
  }
  return peaks;
}

std::string peaks_text(const std::string& device, const Figures& peaks) {
  TelemetryInfo info;
  info.devices.push_back({device, {}});
  for (const auto& [name, figure] : peaks) info.devices.front().figures.push_back(figure);
  const std::string text = telemetry_text(info);
  return text.size() > device.size() + 2 ? text.substr(device.size() + 2) : "";
}

// The state of a device, and the evidence that distinguishes it from the other devices.
struct DeviceState {
  std::string_view style{};
  std::string_view state{};
  std::string evidence{};
};

DeviceState state_of(const ResolvedRun& run, const std::string& device, const DeviceShare& share) {
  const auto had_it = [&](const Attempt& attempt) {
    return std::ranges::find(attempt.start.devices, device) != attempt.start.devices.end();
  };
  const bool is_used = share.all > 0 || std::ranges::any_of(run.cases, [&](const ResolvedCase& test) {
                         return std::ranges::any_of(test.attempts, had_it);
                       });
  DeviceState state = is_used ? DeviceState{"passed", "in use"} : DeviceState{"skipped", "unused"};
  for (const DeviceSuspicionText& suspicion : run.device_suspicions) {
    if (suspicion.device != device) continue;
    state = share.is_outlier ? DeviceState{"failed", "fails more often", suspicion.sentence}
                             : DeviceState{"flaky", "all failures", suspicion.sentence};
  }
  for (const DeviceHealth& health : run.health) {
    if (health.device != device) continue;
    if (health.what == HealthFact::kDrained)
      state = {"failed", "drained", health.evidence};
    else if (health.what == HealthFact::kLost || health.what == HealthFact::kProbeFailed ||
             health.what == HealthFact::kKernelLog)
      state = {"failed", "suspect", health.evidence};
  }
  return state;
}

std::vector<json> device_cells(const ResolvedRun& run, const PlannedDevice& device, const Figures& peaks) {
  const auto found = std::ranges::find(run.device_shares, device.id, &DeviceShare::device);
  const DeviceShare share = found == run.device_shares.end() ? DeviceShare{} : *found;
  const DeviceState state = state_of(run, device.id, share);
  const std::string address = "device=" + state_value(device.id);
  return {plain_id(device.id),
          model_cell(model_text(device), device.simulated),
          {{"badge", badge(state.style, state.state)}, {"small", state.evidence}},
          count_cell(static_cast<std::size_t>(share.all), address),
          count_cell(static_cast<std::size_t>(share.bad), address + "&look=failed"),
          peaks_text(device.id, peaks)};
}

// A row for each case that failed on some device in a run with --each-device: its failures on
// each device, and the conclusion.
json each_device_table(const ResolvedRun& run) {
  if (!run.plan.rules.each_device) return nullptr;
  PageTable table({"Case", "Conclusion", "Failed attempts"}, kMostEachDeviceBytes);
  for (const ResolvedCase& test : run.cases) {
    if (!test.by_device || test.by_device->counts.size() < 2) continue;
    const DeviceRow& row = *test.by_device;
    std::string counts;
    for (const auto& [device, count] : row.counts) {
      counts += fmt::format("{}{}: {} of {}", counts.empty() ? "" : ", ", device, thousands(count.bad),
                            thousands(count.bad + count.good));
    }
    const std::string_view style = row.suspect == Suspect::kUnclear ? "notrun" : "failed";
    table.add({case_cell(test.planned.id),
               {{"badge", badge(style, to_string(row.suspect))}, {"small", conclusion(row)}},
               counts});
  }
  const json view = table.view();
  return view.is_null() ? json() : json{{"title", "Cases that failed, on each device"}, {"table", view}};
}

// ---- The environment ----

std::string quoted_line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

// Returns "1: pytest imports torch".
std::string devices_of(const PlannedSuite& suite) {
  return std::to_string(suite.devices) + (suite.devices_reason.empty() ? "" : ": " + suite.devices_reason);
}

json programs_table(const ResolvedRun& run) {
  PageTable table({"Suite", "Framework", "Devices", "Command", "Program"});
  for (const PlannedSuite& suite : run.plan.suites) {
    const ProgramRead read = run.program_read(suite);
    table.add({suite_name(suite.name, suite.backend), suite.kind, devices_of(suite),
               json::object({{"code", quoted_line(suite.command)}}),
               read.sha256.empty() ? json(read.reason) : code_cell(short_digest(read.sha256))});
  }
  return table.view();
}

json stack_table(const RunPlanned& plan) {
  PageTable table({"Layer", "Value", "Source"});
  std::set<std::string_view> said;
  for (const StackFact& fact : plan.fingerprint) {
    said.insert(fact.name);
    table.add({fact.name,
               fact.value ? json(*fact.value) : json::object({{"em", fact.absent ? "not there" : "unknown"}}),
               fact.value ? fact.source : fact.reason});
  }
  for (const auto& [name, value] : plan.stack) {
    if (said.insert(name).second) table.add({name, value, nullptr});
  }
  return table.view();
}

json surroundings_of(const PageRequest& request, const PageRun& run) {
  const RunPlanned& plan = run.resolved.plan;
  json files = json::array();
  for (const std::string_view file : request.sibling_files)
    if (run.link) files.push_back({{"file", file}, {"href", *run.link + std::string(file)}});
  json said = {{"host", plan.hostname},
               {"started", time_text(plan.started)},
               {"finished", run.resolved.ended ? time_text(run.resolved.ended->finished) : "not finished"},
               {"command", run.accept.report && !run.accept.report->command_line.empty()
                               ? run.accept.report->command_line
                               : quoted_line(plan.command_line)},
               {"directory", plan.directory},
               {"containment", plan.containment.layer},
               {"gaps", said_lines(plan.containment.not_guaranteed)},
               {"repository", plan.subject.repository.value.value_or("")},
               {"build", plan.subject.build.value.value_or("")},
               {"plan", short_digest(plan.plan_digest)},
               {"has_files", !files.empty()},
               {"files", files},
               {"programs", programs_table(run.resolved)},
               {"stack", stack_table(plan)}};
  if (plan.sim) said["sim"] = {{"topology", plan.sim->topology}, {"driver", plan.sim->driver}};
  if (plan.shard) {
    said["shard"] = {{"index", std::to_string(plan.shard->index)},
                     {"count", std::to_string(plan.shard->count)}};
  }
  if (plan.rest) said["remaining"] = {{"runs", joined(plan.rest->runs, ", ")}};
  return said;
}

}  // namespace

json matrix_section(const PageView& view) {
  std::map<std::size_t, MatrixCell> cells;
  for (const PageCase& shown : view.cases)
    count_case(view.request, shown, cells[variant_number(view.request, shown)]);
  const bool has_past =
      std::ranges::any_of(view.request.runs, [](const PageRun& run) { return run.past != nullptr; });
  PageTable table({"Suite", "Backend", "Stack", "Devices", "State", "#Cases", "#Passed", "#Failed", "#Flaky",
                   "#Known", "#Skipped", "#Not run", "First failed"});
  std::size_t place = 0;
  for (const PageRun& run : view.request.runs) {
    for (const Variant& variant : run.resolved.variants) {
      table.add(matrix_row(place, variant, cells[place], has_past));
      ++place;
    }
  }
  return {{"table", table.view()}, {"reasons", reasons_of_unrun(view)}};
}

json devices_section(const PageView& view) {
  return of_each_run(view, [](const PageRun& shown, std::size_t) -> json {
    const ResolvedRun& run = shown.resolved;
    if (run.plan.devices.empty()) return nullptr;
    PageTable table({"Device", "Model", "State", "#Attempts", "#Failed", "Peaks"});
    auto peaks = device_peaks(run);
    for (const PlannedDevice& device : run.plan.devices)
      table.add(device_cells(run, device, peaks[device.id]));
    return {{"table", table.view()}, {"each_device", each_device_table(run)}};
  });
}

json where_section(const PageView& view) {
  return of_each_run(view,
                     [&view](const PageRun& run, std::size_t) { return surroundings_of(view.request, run); });
}

}  // namespace proctor
