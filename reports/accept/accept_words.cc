#include "reports/accept/accept_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "harness/base/json.h"
#include "harness/base/result.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

constexpr std::size_t kMostInHeadline = 4;  // devices in the headline

// Returns "cuda-sim:1, cuda-sim:3 and 2 more".
std::string names_text(const std::vector<std::string>& names) { return some_of(names, kMostInHeadline); }

std::vector<std::string> names_with(const AcceptReport& report, RunVerdict verdict) {
  std::vector<std::string> names;
  for (const AcceptedDevice& device : report.devices) {
    if (device.verdict == verdict) names.push_back(device.id);
  }
  return names;
}

// Texts with the names that share each, in the order of insertion.
using NamesByText = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_name(NamesByText& texts, const std::string& text, const std::string& name) {
  auto same = std::ranges::find(texts, text, &NamesByText::value_type::first);
  if (same == texts.end()) same = texts.insert(texts.end(), {text, {}});
  same->second.push_back(name);
}

// Returns "replace cuda-sim:2; reset cuda-sim:0, cuda-sim:1", with the action of most effort first.
std::string actions_text(const AcceptReport& report) {
  NamesByText actions;
  for (std::size_t i = kAcceptActions; i-- > 0;)
    actions.push_back({std::string(to_string(static_cast<AcceptAction>(i))), {}});
  for (const AcceptedDevice& device : report.devices) {
    if (device.verdict == RunVerdict::kFailed) add_name(actions, device.action, device.id);
  }
  std::string text;
  for (const auto& [action, names] : actions) {
    if (!names.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", action, names_text(names));
  }
  return text;
}

std::string fact_text(const nlohmann::json* value) {
  if (value == nullptr) return "unknown";
  return value->is_string() ? value->get<std::string>()
                            : value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void keep_larger(std::optional<double>& most, const std::optional<double>& value) {
  if (value) most = std::max(most.value_or(*value), *value);
}

FigureRow figure_row(const std::string& name, const std::vector<const AcceptedDevice*>& devices) {
  FigureRow row{.name = name};
  for (const AcceptedDevice* device : devices) {
    const auto found = std::ranges::find(device->figures, name, &AcceptFigure::name);
    const AcceptFigure* figure = found == device->figures.end() ? nullptr : &*found;
    row.values.push_back(figure);
    if (figure == nullptr) continue;
    row.unit = figure->unit;
    keep_larger(row.floor, figure->floor);
    keep_larger(row.best, figure->best);
    row.most = std::max({row.most, figure->value, figure->floor.value_or(0), figure->best.value_or(0)});
  }
  return row;
}

// Adds the steps of passed devices that are partly proven or were not tried: "links: 1 case:
// needs:devices>=2 (cuda-sim:0)".
void add_open_steps(const AcceptReport& report, OpenPoints& points) {
  NamesByText open;
  for (const AcceptedDevice& device : report.devices) {
    if (device.verdict != RunVerdict::kPassed) continue;
    for (const AcceptStepResult& step : device.steps) {
      if (step.state != StepState::kPartly && step.state != StepState::kNotTried) continue;
      add_name(open, step.gap.starts_with(step.name) ? step.gap : fmt::format("{}: {}", step.name, step.gap),
               device.id);
    }
  }
  for (const auto& [text, names] : open)
    points.emplace_back("Not proven", fmt::format("{} ({})", text, names_text(names)));
}

// Adds the speeds without a limit by reason: "not compared, because simulated speeds are those of the host:
// memory.ceiling".
void add_speeds_without_bound(const AcceptReport& report, OpenPoints& points) {
  std::map<std::string, std::set<std::string>> reasons;
  for (const ModelFigures& model : figures_by_model(report)) {
    for (const FigureRow& row : model.rows) {
      const auto is_judged = [](const AcceptFigure* figure) { return figure == nullptr || figure->judged(); };
      if (std::ranges::all_of(row.values, is_judged)) continue;
      const bool is_alone = std::ranges::count(row.values, nullptr) + 1 == std::ssize(row.values);
      const char* reason = report.simulated ? "simulated speeds are those of the host, and have no floor"
                           : is_alone       ? "there is no floor, and no other device of the model"
                                            : "devices share the link to the host, and there is no floor";
      reasons[reason].insert(row.name);
    }
  }
  for (const auto& [reason, names] : reasons)
    points.emplace_back("Speeds",
                        fmt::format("not compared, because {}: {}", reason, fmt::join(names, ", ")));
}

}  // namespace

std::string accept_details(const AcceptReport& report) {
  const std::size_t all = report.devices.size();
  const auto of_all = [&](std::size_t count) {
    return fmt::format("{} of {} GPU{}", count, all, all == 1 ? "" : "s");
  };
  const auto failed = names_with(report, RunVerdict::kFailed);
  const auto incomplete = names_with(report, RunVerdict::kIncomplete);
  const std::string stopped = report.is_stopped() ? "stopped by " + signal_name(report.exit_code - 128) : "";
  if (!failed.empty()) {
    std::string text = fmt::format("{}: {}", of_all(failed.size()), actions_text(report));
    if (!incomplete.empty()) text += fmt::format("; incomplete: {}", names_text(incomplete));
    return stopped.empty() ? text : text + "; " + stopped;
  }
  if (report.devices.empty()) return "there is no device";
  if (!stopped.empty()) return stopped;
  if (report.verdict == RunVerdict::kInterrupted) return "the run was cut short";
  if (!incomplete.empty()) return fmt::format("{}: {}", of_all(incomplete.size()), names_text(incomplete));
  return report.gaps.empty() ? of_all(all) : "the machine is not as expected";
}

std::string_view sign_of(StepState state) {
  constexpr std::array<std::string_view, kStepStates> kSigns = {"✓", "✗", "~", "·"};
  return kSigns[static_cast<std::size_t>(state)];
}

std::vector<std::string> step_names(const AcceptReport& report) {
  std::vector<std::string> names;
  for (const AcceptedDevice& device : report.devices) {
    for (const AcceptStepResult& step : device.steps) {
      if (std::ranges::find(names, step.name) == names.end()) names.push_back(step.name);
    }
  }
  return names;
}

const AcceptStepResult* find_step(const AcceptedDevice& device, const std::string& name) {
  const auto found = std::ranges::find(device.steps, name, &AcceptStepResult::name);
  return found == device.steps.end() ? nullptr : &*found;
}

OpenPoints open_points(const AcceptReport& report) {
  OpenPoints points;
  for (const std::string& gap : report.gaps) points.emplace_back("Machine", gap);
  add_open_steps(report, points);
  add_speeds_without_bound(report, points);
  if (!report.left_out.empty()) points.emplace_back("No time in the budget", joined(report.left_out, ", "));
  for (const std::string& problem : report.problems) points.emplace_back("Not known", problem);
  if (!report.not_tried.empty()) points.emplace_back("Not tried", joined(report.not_tried, ", "));
  return points;
}

std::vector<ChangedFact> changed_facts(const AcceptedDevice& device) {
  std::set<std::string> names;
  for (const CardFacts* facts : {&device.before, &device.after}) {
    for (const auto& [name, value] : facts->values) names.insert(name);
  }
  std::vector<ChangedFact> changed;
  if (device.before.values.empty() || device.after.values.empty()) return changed;
  for (const std::string& name : names) {
    const nlohmann::json* before = device.before.find(name);
    const nlohmann::json* after = device.after.find(name);
    if (before != nullptr && after != nullptr && *before == *after) continue;
    changed.push_back({.name = name, .before = fact_text(before), .after = fact_text(after)});
  }
  return changed;
}

std::vector<ModelFigures> figures_by_model(const AcceptReport& report) {
  std::vector<ModelFigures> models;
  for (const AcceptedDevice& device : report.devices) {
    if (device.figures.empty()) continue;
    auto found = std::ranges::find(models, device.model, &ModelFigures::model);
    if (found == models.end()) found = models.insert(models.end(), {.model = device.model});
    found->devices.push_back(&device);
  }
  for (ModelFigures& model : models) {
    std::vector<std::string> names;
    for (const AcceptedDevice* device : model.devices) {
      for (const AcceptFigure& figure : device->figures) {
        if (std::ranges::find(names, figure.name) == names.end()) names.push_back(figure.name);
      }
    }
    for (const std::string& name : names) model.rows.push_back(figure_row(name, model.devices));
  }
  return models;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

std::string cut_text(const std::string& text, std::size_t columns) {
  if (width_of(text) <= columns) return text;
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && ++seen == columns) break;
  }
  return text.substr(0, at) + "…";
}

ShortIds short_ids(const AcceptReport& report) {
  constexpr std::size_t kLongest = 20;
  constexpr std::size_t kMostBytes = 400;
  ShortIds whole, ids;
  std::set<std::string> different;
  for (const AcceptedDevice& device : report.devices) {
    whole[&device] = one_line(clean_text(device.id), kMostBytes);
    ids[&device] = cut_text(whole[&device], kLongest);
    different.insert(ids[&device]);
  }
  return different.size() == ids.size() ? ids : whole;
}

}  // namespace proctor
