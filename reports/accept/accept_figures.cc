#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/accept/accept_parts.h"
#include "reports/resolve/truncate.h"

namespace proctor {
namespace {

// A speed is better if it is larger.
bool is_speed(const Measure& measure) { return measure.unit == "GB/s" || measure.unit == "GFLOP/s"; }

using ByModel = std::pair<std::string, std::string>;  // a model, and a name of it

// The devices with each value.
using ValuesOfDevices = std::map<std::string, std::vector<std::string>>;

// Of several figures of one name, a device has the last one.
void add_figures(const AttemptEnded& end, AcceptedDevice& device) {
  if (end.verdict.outcome != Outcome::kPass) return;
  for (const Measure& measure : end.measures) {
    if (!is_speed(measure)) continue;
    std::erase_if(device.figures, [&](const AcceptFigure& figure) { return figure.name == measure.name; });
    device.figures.push_back({.name = measure.name,
                              .unit = measure.unit,
                              .value = measure.value,
                              .n = measure.n,
                              .spread = measure.spread});
  }
}

bool computes_wrong(const AcceptedDevice& device) {
  return std::ranges::any_of(device.findings, [](const AcceptFinding& finding) {
    return finding.case_id.starts_with("kernels.") || finding.case_id.starts_with("memory.");
  });
}

// A device whose own results are wrong has no vote.
void add_common_results(const AttemptEnded& end, const AcceptedDevice& device,
                        std::map<ByModel, ValuesOfDevices>& results) {
  constexpr std::string_view kCommon = "same.";
  for (const auto& [name, value] : end.properties) {
    if (!name.starts_with(kCommon) || computes_wrong(device)) continue;
    auto& ids = results[{device.model, name.substr(kCommon.size())}][value];
    if (std::ranges::find(ids, device.id) == ids.end()) ids.push_back(device.id);
  }
}

// Returns the best value by model and name, for models with at least two devices.
std::map<ByModel, double> best_of_siblings(const JudgedDevices& devices) {
  std::map<ByModel, std::vector<double>> values;
  for (const auto& [id, device] : devices) {
    for (const AcceptFigure& figure : device.figures)
      values[{device.model, figure.name}].push_back(figure.value);
  }
  std::map<ByModel, double> best;
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
       .words = fmt::format("{} is {:.4g} {} (n {}, spread {:.3g}), below {}", figure.name, figure.value,
                            figure.unit, figure.n, figure.spread, bound),
       .rule = action_for("")});
}

constexpr std::string_view kInventory = "inventory.";

void leave_open(AcceptedDevice& device, std::string_view step) {
  for (AcceptStepResult& result : device.steps) result.undecided += result.name == step ? 1 : 0;
}

void judge_common(const std::string& name, const ValuesOfDevices& values, const std::string& again,
                  JudgedDevices& devices) {
  if (values.size() < 2) return;
  const bool is_setting = name.starts_with(kInventory);
  const std::string_view step = is_setting ? "inventory" : "silent errors";
  const char* rule = is_setting ? "management/Inventory.Setting" : "kernels/Cores.*";
  std::size_t all = 0;
  const std::vector<std::string>* most = nullptr;
  for (const auto& [value, ids] : values) {
    all += ids.size();
    if (most == nullptr || ids.size() > most->size()) most = &ids;
  }
  const bool majority = most->size() * 2 > all;
  for (const auto& [value, ids] : values) {
    if (majority && &ids == most) continue;
    for (const std::string& id : ids) {
      AcceptedDevice& device = devices.at(id);
      const std::string words =
          fmt::format("its {} differs from that of other devices of the model: {}",
                      is_setting ? name.substr(kInventory.size()) : "result of " + name, one_line(value, 80));
      if (majority) {
        device.findings.push_back({.step = std::string(step), .words = words, .rule = action_for(rule)});
      } else {
        leave_open(device, step);
        device.gaps.push_back(words + ", and no majority shows which is right");
        const char* repair =
            is_setting ? "make the settings of the model equal" : "add a device of the model";
        if (device.next.empty()) device.next = fmt::format("{}, then: {}", repair, again);
      }
    }
  }
}

}  // namespace

bool is_of_device_alone(const std::string& figure) {
  static const std::set<std::string> kAlone = {"memory.ceiling", "memory.bandwidth.device_to_device",
                                               "kernels.saxpy", "kernels.matmul"};
  return kAlone.contains(figure) || figure.starts_with("memory.patterns.");
}

bool is_far_below(const AcceptFigure& figure, double best) {
  return figure.value + figure.spread / 2 < 0.9 * best;
}

void judge_figures(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices) {
  std::map<ByModel, ValuesOfDevices> results;
  for (const ResolvedCase& test : run.cases) {
    for (const Attempt& attempt : test.attempts) {
      if (!attempt.end || attempt.start.devices.size() != 1) continue;
      const auto device = devices.find(attempt.start.devices.front());
      if (device == devices.end()) continue;
      add_figures(*attempt.end, device->second);
      add_common_results(*attempt.end, device->second, results);
    }
  }
  for (const auto& [key, values] : results) judge_common(key.second, values, question.again, devices);
  const auto best = best_of_siblings(devices);
  for (auto& [id, device] : devices) {
    const ExpectedModel* expected = question.expected ? question.expected->find(device.model) : nullptr;
    for (AcceptFigure& figure : device.figures) {
      const auto sibling = best.find({device.model, figure.name});
      if (expected != nullptr && expected->floors.contains(figure.name))
        figure.floor = expected->floors.at(figure.name);
      // The speed of a simulated device is that of the host.
      if (!run.simulated && sibling != best.end() && is_of_device_alone(figure.name))
        figure.best = sibling->second;
      const bool below_floor = figure.floor && figure.value < *figure.floor;
      const bool below_best = figure.best && is_far_below(figure, *figure.best);
      figure.low = below_floor || below_best;
      if (figure.low) report_low(device, figure);
    }
  }
}

}  // namespace proctor
