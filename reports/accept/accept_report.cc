#include "reports/accept/accept_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/base/json.h"
#include "harness/base/named_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/formats/json_writer.h"

namespace proctor {
namespace {

using nlohmann::json;

// ---- Names of the enumerators, in their order ----

constexpr std::array<std::string_view, kStepStates> kStates = {"proven", "failed", "partly", "not tried"};
constexpr std::array<std::string_view, kAcceptActions> kActions = {"retest", "fix software", "reset",
                                                                   "reboot", "reseat",       "replace"};
static_assert(!kStates.back().empty() && !kActions.back().empty());

template <typename Enum, std::size_t N>
std::optional<Enum> named(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<Enum>(found - names.begin()));
}

// ---- Writing ----

void write_finding(JsonWriter& out, const AcceptFinding& finding) {
  out.member("step", finding.step).member("words", finding.words);
  out.member("action", to_string(finding.rule.action)).member_if_any("case", finding.case_id);
  out.member_if_any("code", finding.code).member_if_any("evidence", finding.evidence);
}

void write_step(JsonWriter& out, const AcceptStepResult& result) {
  out.member("name", result.name).member("proves", result.step->proves);
  out.member("state", to_string(result.state)).member("required", result.step->required);
  out.member_if_any("gap", result.gap).member("covered_percent", result.covered_percent);
  out.member("passed", result.passed).member("failed", result.failed).member("undecided", result.undecided);
  out.member("skipped", result.skipped).member("not_run", result.not_run);
  out.member("seconds", static_cast<double>(result.ms) / 1000).open_object("why");
  std::map<std::string, int> why = result.why_skipped;
  for (const auto& [reason, cases] : result.why_not_run) why[reason] += cases;
  for (const auto& [reason, cases] : why) out.member(reason.empty() ? "no reason" : reason, cases);
  out.close();
}

void write_figure(JsonWriter& out, const AcceptFigure& figure) {
  out.member("name", figure.name).member("unit", figure.unit).member("value", figure.value);
  out.member("n", figure.n).member("spread", figure.spread).member("floor", figure.floor);
  out.member("best_of_model", figure.best);
  out.member("verdict", figure.low ? "failed" : figure.judged() ? "passed" : "insufficient");
}

void write_facts(JsonWriter& out, const char* when, const CardFacts& card) {
  if (card.values.empty() && card.missing.empty()) return;
  out.open_object(when);
  for (const auto& [key, value] : card.values) {
    if (value.is_string()) {
      out.member(key, value.get<std::string>());
    } else if (value.is_boolean()) {
      out.member(key, value.get<bool>());
    } else if (value.is_number()) {
      out.member(key, value.get<double>());
    }
  }
  out.open_object("missing");
  for (const auto& [key, why] : card.missing) out.member(key, why);
  out.close().close();
}

void write_device(JsonWriter& out, const AcceptedDevice& device) {
  out.member("id", device.id).member("model", device.model).member_if_any("uuid", device.uuid);
  out.member_if_any("pci", device.pci).member_if_any("next", device.next);
  out.member("verdict", to_string(device.verdict)).member("reason", device.reason());
  out.member_or_null("action", device.action);
  out.objects("findings", device.findings, write_finding).member("gaps", device.gaps);
  out.objects("steps", device.steps, write_step).objects("figures", device.figures, write_figure);
  out.open_object("facts");
  write_facts(out, "before", device.before);
  write_facts(out, "after", device.after);
  out.close();
}

// ---- Reading ----

constexpr std::uint64_t kMostReportBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMostReported = 1024;
constexpr std::size_t kMostItems = 512;  // for each list of a device
constexpr std::size_t kMostNames = 256;  // for all steps and figures in the report

const json kNone;

// Returns the member, or null if it is missing.
const json& member_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

// Returns the member, or null if it is not a list.
const json& list_member(const json& object, const char* key) {
  const json& found = member_of(object, key);
  return found.is_array() ? found : kNone;
}

std::string text_member(const json& object, const char* key) {
  const json& found = member_of(object, key);
  return found.is_string() ? found.get<std::string>() : "";
}

std::optional<double> number_member(const json& object, const char* key) {
  const json& found = member_of(object, key);
  return found.is_number() ? std::optional(found.get<double>()) : std::nullopt;
}

template <typename Whole>
Whole whole_member(const json& object, const char* key, double most, double otherwise = 0) {
  return static_cast<Whole>(std::clamp(number_member(object, key).value_or(otherwise), 0.0, most));
}

// Converts the first kMostItems objects of a list. Returns nothing if the member is not a list.
template <typename Item>
std::vector<Item> items(const json& object, const char* key, Item (*convert)(const json&)) {
  std::vector<Item> list;
  for (const json& one : list_member(object, key)) {
    if (one.is_object() && list.size() < kMostItems) list.push_back(convert(one));
  }
  return list;
}

std::vector<std::string> text_members(const json& object, const char* key) {
  std::vector<std::string> list;
  for (const json& one : list_member(object, key)) {
    if (one.is_string() && list.size() < kMostItems) list.push_back(one.get<std::string>());
  }
  return list;
}

AcceptFinding read_finding(const json& object) {
  return {.case_id = text_member(object, "case"),
          .words = text_member(object, "words"),
          .evidence = text_member(object, "evidence")};
}

AcceptStepResult read_step(const json& object) {
  return {.name = text_member(object, "name"),
          .state = named<StepState>(kStates, text_member(object, "state")).value_or(StepState::kNotTried),
          .gap = text_member(object, "gap"),
          .not_run = whole_member<int>(object, "not_run", 1e6)};
}

AcceptFigure read_figure(const json& object) {
  return {.name = text_member(object, "name"),
          .unit = text_member(object, "unit"),
          .value = number_member(object, "value").value_or(0),
          .n = whole_member<std::int64_t>(object, "n", 1e15),
          .spread = number_member(object, "spread").value_or(0),
          .floor = number_member(object, "floor"),
          .best = number_member(object, "best_of_model"),
          .low = text_member(object, "verdict") == "low"};
}

CardFacts read_facts(const json& device, const char* when) {
  CardFacts facts;
  const json& both = member_of(device, "facts");
  if (!both.is_object() || !member_of(both, when).is_object()) return facts;
  for (const auto& [key, value] : member_of(both, when).items()) {
    if (value.is_primitive() && facts.values.size() < kMostItems) facts.values[key] = value;
  }
  return facts;
}

// A failed device gets no more cases, so all its steps have the same gap. Returns this gap once.
std::vector<std::string> unrun_cases(const AcceptedDevice& device) {
  int cases = 0;
  for (const AcceptStepResult& step : device.steps) cases += step.not_run;
  if (cases == 0) return {};
  return {fmt::format("{} {} not run on {}", cases, cases == 1 ? "case was" : "cases were", device.id)};
}

AcceptedDevice read_device(const json& object, RunVerdict verdict) {
  AcceptedDevice device{.id = text_member(object, "id"),
                        .model = text_member(object, "model"),
                        .uuid = text_member(object, "uuid"),
                        .pci = text_member(object, "pci"),
                        .verdict = verdict,
                        .action = text_member(object, "action"),
                        .next = text_member(object, "next"),
                        .findings = items(object, "findings", read_finding),
                        .gaps = text_members(object, "gaps"),
                        .steps = items(object, "steps", read_step),
                        .figures = items(object, "figures", read_figure),
                        .before = read_facts(object, "before"),
                        .after = read_facts(object, "after")};
  if (verdict == RunVerdict::kFailed) device.gaps = unrun_cases(device);
  return device;
}

Error not_usable(const std::string& why) { return Error{ErrorKind::kUsage, why, {}, 0}; }

}  // namespace

std::string_view to_string(AcceptAction action) { return kActions[static_cast<std::size_t>(action)]; }
std::string_view to_string(StepState state) { return kStates[static_cast<std::size_t>(state)]; }

std::string AcceptedDevice::reason() const {
  if (!findings.empty()) return findings.front().words;
  return gaps.empty() ? "" : gaps.front();
}

std::string accept_json(const AcceptReport& report) {
  return text_of([&](TextOutput& output) {
    JsonWriter out(output);
    out.open_object().member("schema_version", 1).member("verdict", to_string(report.verdict));
    out.member("exit_code", report.exit_code).member("level", report.level);
    out.member("run_id", report.run_id).member("host", report.host);
    out.member("command_line", report.command_line).member("duration_ms", report.duration_ms);
    out.member("simulated", report.simulated).member("run", report.run_dir);
    out.member("expected", report.expected)
        .member("gaps", report.gaps)
        .member("omitted_steps", report.left_out);
    out.member("problems", report.problems).member("not_covered", report.not_tried);
    out.objects("devices", report.devices, write_device).close();
    output.pending() += '\n';
  });
}

Result<AcceptReport> parse_accept_report(std::string_view text) {
  const json document = parse_json(text);
  if (!document.is_object()) return not_usable("is not a JSON object");
  const auto verdict = parse_run_verdict(text_member(document, "verdict"));
  const json& devices = member_of(document, "devices");
  if (!verdict) return not_usable("has no verdict");
  if (!devices.is_array()) return not_usable("has no devices");
  if (devices.size() > kMostReported) return not_usable("has more than 1024 devices");
  AcceptReport report{.verdict = *verdict,
                      .exit_code = whole_member<int>(document, "exit_code", 255, exit_code_of(*verdict)),
                      .level = whole_member<int>(document, "level", 9),
                      .simulated = member_of(document, "simulated") == true,
                      .run_id = text_member(document, "run_id"),
                      .host = text_member(document, "host"),
                      .command_line = text_member(document, "command_line"),
                      .duration_ms = whole_member<std::int64_t>(document, "duration_ms", 1e15),
                      .gaps = text_members(document, "gaps"),
                      .left_out = text_members(document, "omitted_steps"),
                      .problems = text_members(document, "problems"),
                      .not_tried = text_members(document, "not_covered")};
  std::set<std::string> steps, figures;
  for (const json& one : devices) {
    const auto of_device = one.is_object() ? parse_run_verdict(text_member(one, "verdict")) : std::nullopt;
    if (!of_device || text_member(one, "id").empty())
      return not_usable("has a device without an id or a verdict");
    const auto is_figure = [](const json& figure) {
      return figure.is_object() && !text_member(figure, "name").empty() && number_member(figure, "value");
    };
    if (const json& all = member_of(one, "figures"); all.is_array() && !std::ranges::all_of(all, is_figure))
      return not_usable("has a figure without a name or a value");
    report.devices.push_back(read_device(one, *of_device));
    for (const AcceptStepResult& step : report.devices.back().steps) steps.insert(step.name);
    for (const AcceptFigure& figure : report.devices.back().figures) figures.insert(figure.name);
    if (std::max(steps.size(), figures.size()) > kMostNames)
      return not_usable("has more than 256 names of steps or figures");
  }
  return report;
}

FoundAcceptReport find_accept_report(const std::filesystem::path& run_dir, const ResolvedRun& run) {
  std::error_code ignored;
  const std::filesystem::path file = run_dir / "accept.json";
  const auto status = std::filesystem::symlink_status(file, ignored);
  if (run_dir.empty() || !std::filesystem::exists(status)) return {};
  const auto ignore = [](const std::string& why) {
    return FoundAcceptReport{.warning = "accept.json is ignored: " + why};
  };
  if (!std::filesystem::is_regular_file(status)) return ignore("it is not a regular file");
  const auto text = read_found_file(file.string(), kMostReportBytes);
  if (!text) return ignore("it cannot be read");
  auto report = parse_accept_report(*text);
  if (!report) return ignore("it " + report.error().what);
  if (report->run_id != run.plan.run_id) return ignore("another run wrote it");
  return {.report = *std::move(report)};
}

namespace {

constexpr AcceptStep kSteps[] = {
    {"driver", 1, true, 5, "the driver lists the device, by its identity",
     "visibility/Enumeration.* visibility/EmptyMask.* visibility/DdiTable.* visibility/Initialization.* "
     "visibility/DriverVersion.* visibility/CurrentDevice.* visibility/DeviceUuid.* "
     "visibility/DeviceProperties.* visibility/PciBusId.* visibility/PciAddress.* "
     "visibility/DeviceOrder.* visibility/Sysman.*"},
    {"copy", 1, true, 2, "a copy keeps every byte", "memory/Copy.UnalignedCopyIsByteExact*"},
    {"kernel", 1, true, 2, "each group of a launch runs once", "kernels/Launch.EveryGroupRunsOnce*"},
    {"inventory", 1, false, 10, "links, remaps, firmware and resets are as they should be",
     "management/Inventory.* management/ErrorCounter.LoadCausesFewCorrectedErrors management/Clock.* "
     "management/*Link.* management/MemoryHealth.* management/DeviceState.* management/RowRemap.* "
     "management/Management.EveryQueryAnswersInTime"},
    {"transfers", 2, false, 5, "a copy between each two devices keeps every byte",
     "memory/PeerCopy.*ExchangeExactBytes", 0, true},
    {"errors", 2, false, 5, "no error of memory is left uncorrected under load",
     "management/ErrorCounter.LoadCausesNoUncorrectedError"},
    {"silent errors", 3, true, 60, "each core computes the same bits", "kernels/Cores.*", 0, false, true},
    {"memory patterns", 3, true, 30, "75 % of the free memory keeps four patterns",
     "memory/Contents.MostMemoryKeepsPattern*", 75, false, true},
    {"links", 3, false, 20, "the link between each two devices has its speed", "memory/PeerLink.*", 0, true},
    {"training", 3, false, 20, "a training step has the same bits each time", "kernels/Training.*"},
    {"bandwidth", 2, false, 20, "copies and kernels have their speed", "memory/Bandwidth.* kernels/Speed.*"},
    {"sensors", 2, false, 15, "sensors and processes are reported as they are",
     "management/Sensor.* management/EnergyCounter.* management/Utilization.* management/Nvml*.* "
     "management/Sysman.* management/ProcessList.* management/Management.*"},
    {"memory", 2, true, 80, "allocations, copies and fills follow their rules", "memory/*"},
    {"kernels", 2, true, 100, "launches, events and arithmetic follow their rules", "kernels/*"},
    {"management", 2, false, 10, "errors and resets are reported as they are", "management/*"},
    {"visibility", 2, false, 30, "masks select devices", "visibility/*"},
};

}  // namespace

std::span<const AcceptStep> accept_steps() { return kSteps; }

std::string without_backend(std::string_view case_id) {
  const auto slash = case_id.find('/');
  const auto dot = case_id.rfind('.', slash);
  if (slash == std::string_view::npos || dot == std::string_view::npos) return std::string(case_id);
  return std::string(case_id.substr(0, dot)).append(case_id.substr(slash));
}

const AcceptStep* step_of(std::string_view case_id) {
  const std::string name = without_backend(case_id);
  const auto has = [&](const AcceptStep& step) {
    return std::ranges::any_of(split(step.cases, ' '),
                               [&](std::string_view glob) { return glob_match(glob, name); });
  };
  const auto found = std::ranges::find_if(kSteps, has);
  return found == std::end(kSteps) ? nullptr : &*found;
}

ChosenSteps choose_steps(int level, std::optional<int> budget_s) {
  ChosenSteps chosen;
  int left = budget_s.value_or(0) - smallest_budget_s(level);
  for (const AcceptStep& step : accept_steps()) {
    if (step.level > level) continue;
    const bool fits = !budget_s || step.required || step.seconds <= left;
    (fits ? chosen.taken : chosen.left_out).push_back(&step);
    if (fits && !step.required) left -= step.seconds;
  }
  return chosen;
}

int smallest_budget_s(int level) {
  int seconds = 0;
  for (const AcceptStep& step : accept_steps())
    seconds += step.required && step.level <= level ? step.seconds : 0;
  return seconds;
}

std::string_view size_of_level(int level) { return level == 1 ? "smoke" : level == 2 ? "ci" : "full"; }

}  // namespace proctor
