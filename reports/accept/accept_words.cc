#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "harness/core/json.h"
#include "harness/core/text.h"
#include "harness/core/words.h"
#include "reports/accept/accept_report.h"
#include "reports/accept/short_ids.h"
#include "reports/resolve/truncate.h"

namespace proctor {
namespace {

constexpr std::size_t kMostInHeadline = 4;  // devices of the headline

// "cuda-sim:1, cuda-sim:3 and 2 more".
std::string names_text(const std::vector<std::string>& names) {
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostInHeadline)));
  const std::string text = joined(first, ", ");
  return names.size() > kMostInHeadline ? fmt::format("{} and {} more", text, names.size() - kMostInHeadline)
                                        : text;
}

std::vector<std::string> names_with(const AcceptReport& report, AcceptVerdict verdict) {
  std::vector<std::string> names;
  for (const ReportedDevice& device : report.devices) {
    if (device.verdict == verdict) names.push_back(device.id);
  }
  return names;
}

// "replace cuda-sim:2; reset cuda-sim:0, cuda-sim:1": the action of most effort first.
std::string actions_text(const AcceptReport& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> actions;
  for (std::size_t i = kAcceptActions; i-- > 0;)
    actions.push_back({std::string(to_string(static_cast<AcceptAction>(i))), {}});
  for (const ReportedDevice& device : report.devices) {
    if (device.verdict != AcceptVerdict::kRejected) continue;
    auto found =
        std::ranges::find(actions, device.action, &std::pair<std::string, std::vector<std::string>>::first);
    if (found == actions.end()) found = actions.insert(actions.end(), {device.action, {}});
    found->second.push_back(device.id);
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

FigureRow figure_row(const std::string& name, const std::vector<const ReportedDevice*>& devices) {
  FigureRow row{.name = name};
  for (const ReportedDevice* device : devices) {
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

}  // namespace

std::string accept_headline(const AcceptReport& report) {
  const std::size_t all = report.devices.size();
  const auto of_all = [&](std::size_t count) {
    return fmt::format("{} of {} GPU{}", count, all, all == 1 ? "" : "s");
  };
  const auto rejected = names_with(report, AcceptVerdict::kRejected);
  const auto incomplete = names_with(report, AcceptVerdict::kIncomplete);
  const std::string stopped = report.is_stopped() ? exit_words(report) : "";
  if (!rejected.empty()) {
    std::string text = fmt::format("Reject {}: {}", of_all(rejected.size()), actions_text(report));
    if (!incomplete.empty()) text += fmt::format("; incomplete: {}", names_text(incomplete));
    return stopped.empty() ? text : text + "; " + stopped;
  }
  if (report.devices.empty()) return "Incomplete: there is no device";
  if (!stopped.empty()) return fmt::format("Incomplete: {}", stopped);
  if (!incomplete.empty())
    return fmt::format("Incomplete: {}: {}", of_all(incomplete.size()), names_text(incomplete));
  if (!report.gaps.empty()) return "Incomplete: the machine is not as expected";
  if (report.verdict != AcceptVerdict::kAccepted) return "Incomplete: the run was cut short";
  return fmt::format("Accepted: {}", of_all(all));
}

std::string exit_words(const AcceptReport& report) {
  if (!report.is_stopped()) return std::string(to_string(report.verdict));
  const char* name = ::sigabbrev_np(report.exit_code - 128);
  return name == nullptr ? fmt::format("interrupted by signal {}", report.exit_code - 128)
                         : fmt::format("interrupted by SIG{}", name);
}

std::string_view sign_of(StepState state) {
  constexpr std::array<std::string_view, kStepStates> kSigns = {"✓", "✗", "~", "·"};
  return kSigns[static_cast<std::size_t>(state)];
}

std::vector<std::string> step_names(const AcceptReport& report) {
  std::vector<std::string> names;
  for (const ReportedDevice& device : report.devices) {
    for (const ReportedStep& step : device.steps) {
      if (std::ranges::find(names, step.name) == names.end()) names.push_back(step.name);
    }
  }
  return names;
}

const ReportedStep* find_step(const ReportedDevice& device, const std::string& name) {
  const auto found = std::ranges::find(device.steps, name, &ReportedStep::name);
  return found == device.steps.end() ? nullptr : &*found;
}

std::vector<std::string> open_steps(const AcceptReport& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> open;
  for (const ReportedDevice& device : report.devices) {
    if (device.verdict != AcceptVerdict::kAccepted) continue;
    for (const ReportedStep& step : device.steps) {
      if (step.state != StepState::kPartly && step.state != StepState::kNotTried) continue;
      const std::string text =
          step.gap.starts_with(step.name) ? step.gap : fmt::format("{}: {}", step.name, step.gap);
      auto same = std::ranges::find(open, text, &std::pair<std::string, std::vector<std::string>>::first);
      if (same == open.end()) same = open.insert(open.end(), {text, {}});
      same->second.push_back(device.id);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [text, names] : open) lines.push_back(fmt::format("{} ({})", text, names_text(names)));
  return lines;
}

std::vector<std::string> speeds_without_bound(const AcceptReport& report) {
  std::map<std::string, std::set<std::string>> reasons;
  for (const ModelFigures& model : figures_by_model(report)) {
    for (const FigureRow& row : model.rows) {
      const auto is_judged = [](const AcceptFigure* figure) { return figure == nullptr || figure->judged(); };
      if (std::ranges::all_of(row.values, is_judged)) continue;
      const auto devices =
          std::ranges::count_if(row.values, [](const AcceptFigure* figure) { return figure != nullptr; });
      const char* reason = report.simulated ? "simulated speeds are those of the host, and have no floor"
                           : devices > 1    ? "devices share the link to the host, and there is no floor"
                                            : "there is no floor, and no other device of the model";
      reasons[reason].insert(row.name);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, names] : reasons)
    lines.push_back(fmt::format("not compared, because {}: {}", reason, fmt::join(names, ", ")));
  return lines;
}

std::vector<ChangedFact> changed_facts(const ReportedDevice& device) {
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
  for (const ReportedDevice& device : report.devices) {
    if (device.figures.empty()) continue;
    auto found = std::ranges::find(models, device.model, &ModelFigures::model);
    if (found == models.end()) found = models.insert(models.end(), {.model = device.model});
    found->devices.push_back(&device);
  }
  for (ModelFigures& model : models) {
    std::vector<std::string> names;
    for (const ReportedDevice* device : model.devices) {
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
  for (const ReportedDevice& device : report.devices) {
    whole[&device] = one_line(clean_text(device.id), kMostBytes);
    ids[&device] = cut_text(whole[&device], kLongest);
    different.insert(ids[&device]);
  }
  return different.size() == ids.size() ? ids : whole;
}

}  // namespace proctor
