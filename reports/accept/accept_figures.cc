#include <fmt/format.h>

#include <algorithm>

#include "reports/accept/accept_parts.h"
#include "reports/accept/sibling_speed.h"

namespace proctor {
namespace {

// Where more is better.
bool is_speed(const Measure& measure) { return measure.unit == "GB/s" || measure.unit == "GFLOP/s"; }

// The last of several.
void collect(const RunModel& model, JudgedDevices& devices) {
  for (const CaseRecord& record : model.cases()) {
    for (const Attempt& attempt : record.attempts) {
      if (!attempt.end || attempt.end->verdict.outcome != Outcome::kPass || attempt.start.devices.size() != 1)
        continue;
      const auto device = devices.find(attempt.start.devices.front());
      if (device == devices.end()) continue;
      for (const Measure& measure : attempt.end->measures) {
        if (!is_speed(measure)) continue;
        auto& figures = device->second.figures;
        std::erase_if(figures, [&](const AcceptFigure& figure) { return figure.name == measure.name; });
        figures.push_back({.name = measure.name,
                           .unit = measure.unit,
                           .value = measure.value,
                           .n = measure.n,
                           .spread = measure.spread,
                           .floor = {},
                           .best = {}});
      }
    }
  }
}

// By model and name: the best, where there are two devices and more.
std::map<std::pair<std::string, std::string>, double> best_of_siblings(const JudgedDevices& devices) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> values;
  for (const auto& [id, device] : devices) {
    for (const AcceptFigure& figure : device.figures)
      values[{device.model, figure.name}].push_back(figure.value);
  }
  std::map<std::pair<std::string, std::string>, double> best;
  for (const auto& [key, all] : values) {
    if (all.size() > 1) best[key] = *std::ranges::max_element(all);
  }
  return best;
}

void report_low(AcceptedDevice& device, const AcceptFigure& figure) {
  const std::string bound =
      figure.floor && figure.value < *figure.floor
          ? fmt::format("its floor {:.4g}", *figure.floor)
          : fmt::format("90 % of the best of its model, {:.4g}", figure.best.value_or(0));
  device.findings.push_back(
      {.step = "bandwidth",
       .case_id = {},
       .words = fmt::format("{} is {:.4g} {} (n {}, spread {:.3g}), below {}", figure.name, figure.value,
                            figure.unit, figure.n, figure.spread, bound),
       .code = {},
       .evidence = {},
       .rule = action_for("", {Outcome::kFail, {}})});
}

}  // namespace

// A simulated device has no speed of its own: only a floor that somebody gave for its model judges it.
void judge_figures(const RunModel& model, const AcceptQuestion& question, JudgedDevices& devices) {
  collect(model, devices);
  const auto best = best_of_siblings(devices);
  for (auto& [id, device] : devices) {
    const ExpectedModel* expected = question.expected ? question.expected->find(device.model) : nullptr;
    for (AcceptFigure& figure : device.figures) {
      const auto sibling = best.find({device.model, figure.name});
      if (expected != nullptr && expected->floors.contains(figure.name))
        figure.floor = expected->floors.at(figure.name);
      if (!model.simulated() && sibling != best.end() && is_of_device_alone(figure.name))
        figure.best = sibling->second;
      const bool below_floor = figure.floor && figure.value < *figure.floor;
      const bool below_best = figure.best && is_far_below(figure, *figure.best);
      figure.low = below_floor || below_best;
      if (figure.low) report_low(device, figure);
    }
  }
}

}  // namespace proctor
