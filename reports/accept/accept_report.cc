#include "reports/accept/accept_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/core/json.h"
#include "harness/core/named_file.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostReportBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMostReported = 1024;
constexpr std::size_t kMostItems = 512;  // of each list of a device
constexpr std::size_t kMostNames = 256;  // of steps, and of figures, in the whole report

std::string text_member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> number_member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

bool flag_member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

// Returns the first kMostItems objects of a list; none where the key has something else.
std::vector<const json*> object_members(const json& object, const char* key) {
  std::vector<const json*> list;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return list;
  for (const json& one : *found) {
    if (one.is_object() && list.size() < kMostItems) list.push_back(&one);
  }
  return list;
}

std::vector<std::string> text_members(const json& object, const char* key) {
  std::vector<std::string> list;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return list;
  for (const json& one : *found) {
    if (one.is_string() && list.size() < kMostItems) list.push_back(one.get<std::string>());
  }
  return list;
}

std::optional<AcceptVerdict> known_verdict(const std::string& name) {
  for (const auto verdict :
       {AcceptVerdict::kAccepted, AcceptVerdict::kIncomplete, AcceptVerdict::kRejected}) {
    if (name == to_string(verdict)) return verdict;
  }
  return std::nullopt;
}

StepState known_state(const std::string& name) {
  for (const auto state : {StepState::kProven, StepState::kFailed, StepState::kPartly}) {
    if (name == to_string(state)) return state;
  }
  return StepState::kNotTried;
}

AcceptFigure figure_member(const json& object) {
  return {.name = text_member(object, "name"),
          .unit = text_member(object, "unit"),
          .value = number_member(object, "value").value_or(0),
          .n = static_cast<std::int64_t>(std::clamp(number_member(object, "n").value_or(0), 0.0, 1e15)),
          .spread = number_member(object, "spread").value_or(0),
          .floor = number_member(object, "floor"),
          .best = number_member(object, "best_of_model"),
          .low = text_member(object, "verdict") == "low"};
}

CardFacts facts_member(const json& device, const char* when) {
  CardFacts facts;
  const auto both = device.find("facts");
  if (both == device.end() || !both->is_object()) return facts;
  const auto found = both->find(when);
  if (found == both->end() || !found->is_object()) return facts;
  for (const auto& [key, value] : found->items()) {
    if (value.is_primitive() && facts.values.size() < kMostItems) facts.values[key] = value;
  }
  return facts;
}

// A rejected device gets no more cases: each step has the same gap.
void count_unrun_cases(const json& object, ReportedDevice& device) {
  double cases = 0;
  for (const json* step : object_members(object, "steps"))
    cases += number_member(*step, "not_run").value_or(0);
  device.gaps.clear();
  if (cases > 0)
    device.gaps.push_back(
        fmt::format("{} {} not run on {}", cases, cases == 1 ? "case was" : "cases were", device.id));
}

// The lists of a device.
void read_lists(const json& object, ReportedDevice& device) {
  for (const json* one : object_members(object, "findings"))
    device.findings.push_back({.words = text_member(*one, "words"),
                               .case_id = text_member(*one, "case"),
                               .evidence = text_member(*one, "evidence")});
  device.gaps = text_members(object, "gaps");
  for (const json* one : object_members(object, "steps"))
    device.steps.push_back({.name = text_member(*one, "name"),
                            .state = known_state(text_member(*one, "state")),
                            .gap = text_member(*one, "gap")});
  for (const json* one : object_members(object, "figures")) device.figures.push_back(figure_member(*one));
  device.before = facts_member(object, "before");
  device.after = facts_member(object, "after");
}

Error not_usable(const std::string& why) { return Error{ErrorKind::kUsage, why, {}, 0}; }

}  // namespace

std::string ReportedDevice::reason() const {
  if (!findings.empty()) return findings.front().words;
  return gaps.empty() ? "" : gaps.front();
}

Result<AcceptReport> parse_accept_report(std::string_view text) {
  const json document = parse_json(text);
  if (!document.is_object()) return not_usable("is not a JSON object");
  const auto verdict = known_verdict(text_member(document, "verdict"));
  const auto devices = document.find("devices");
  if (!verdict) return not_usable("has no verdict");
  if (devices == document.end() || !devices->is_array()) return not_usable("has no devices");
  if (devices->size() > kMostReported) return not_usable("has more than 1024 devices");
  AcceptReport report{
      .verdict = *verdict,
      .exit_code = static_cast<int>(
          std::clamp(number_member(document, "exit_code").value_or(exit_code(*verdict)), 0.0, 255.0)),
      .level = static_cast<int>(std::clamp(number_member(document, "level").value_or(0), 0.0, 9.0)),
      .simulated = flag_member(document, "simulated"),
      .run_id = text_member(document, "run_id"),
      .host = text_member(document, "host"),
      .command_line = text_member(document, "command_line"),
      .duration_ms = static_cast<std::int64_t>(
          std::clamp(number_member(document, "duration_ms").value_or(0), 0.0, 1e15)),
      .gaps = text_members(document, "gaps"),
      .left_out = text_members(document, "left_out"),
      .problems = text_members(document, "problems"),
      .not_tried = text_members(document, "not_tried")};
  std::set<std::string> steps, figures;
  for (const json& one : *devices) {
    const auto of_device = one.is_object() ? known_verdict(text_member(one, "verdict")) : std::nullopt;
    if (!of_device || text_member(one, "id").empty())
      return not_usable("has a device without an id or a verdict");
    ReportedDevice device{.id = text_member(one, "id"),
                          .model = text_member(one, "model"),
                          .uuid = text_member(one, "uuid"),
                          .pci = text_member(one, "pci"),
                          .verdict = *of_device,
                          .action = text_member(one, "action"),
                          .next = text_member(one, "next")};
    read_lists(one, device);
    if (device.verdict == AcceptVerdict::kRejected) count_unrun_cases(one, device);
    for (const ReportedStep& step : device.steps) steps.insert(step.name);
    for (const AcceptFigure& figure : device.figures) figures.insert(figure.name);
    if (std::max(steps.size(), figures.size()) > kMostNames)
      return not_usable("has more than 256 names of steps or figures");
    report.devices.push_back(std::move(device));
  }
  return report;
}

FoundAcceptReport find_accept_report(const std::filesystem::path& run_dir, const ResolvedRun& run) {
  std::error_code ignored;
  const std::filesystem::path file = run_dir / "accept.json";
  if (run_dir.empty() || !std::filesystem::exists(std::filesystem::symlink_status(file, ignored))) return {};
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, ignored)))
    return {.report = {}, .warning = "accept.json is ignored: it is not a regular file"};
  const auto text = read_found_file(file.string(), kMostReportBytes);
  if (!text) return {.report = {}, .warning = "accept.json is ignored: it cannot be read"};
  auto report = parse_accept_report(*text);
  if (!report) return {.report = {}, .warning = "accept.json is ignored: it " + report.error().what};
  if (report->run_id != run.plan.run_id)
    return {.report = {}, .warning = "accept.json is ignored: another run wrote it"};
  return {.report = *std::move(report), .warning = {}};
}

}  // namespace proctor
