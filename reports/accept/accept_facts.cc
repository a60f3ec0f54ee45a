#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reports/accept/judge_acceptance.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

using nlohmann::json;

// Names of rules in judge_acceptance.cc.
constexpr const char* kLink = "management/PcieLink.WidthIsMaximal";
constexpr const char* kSetting = "management/Inventory.Setting";
constexpr const char* kUncorrected = "management/ErrorCounter.LoadCausesNoUncorrectedError";
constexpr const char* kRemap = "management/RowRemap.NoRemapIsPending";
constexpr const char* kWorn = "management/RowRemap.NoRemapHasFailed";
constexpr const char* kReset = "management/DeviceState.WorkingCardNeedsNoReset";

void report(AcceptedDevice& device, const char* rule, const std::string& words) {
  device.findings.push_back(
      {.step = "inventory", .words = words, .evidence = "accept.json", .rule = action_for(rule)});
}

// ---- Faults that a device's own facts show ----

// An error counter that may rise only by `most` during the acceptance.
struct Counter {
  const char* key;
  double most;  // the largest allowed increase
  const char* rule;
  const char* what;
};
constexpr Counter kCounters[] = {
    {"errors_uncorrected", 0, kUncorrected, "errors of its memory that were not corrected"},
    {"errors_corrected", 1000, kWorn, "errors of its memory that were corrected"},
    {"rows_remapped", 0, kRemap, "remapped rows"},
    {"replays", 100, kLink, "packets that its link repeated"},
};

void judge_counters(AcceptedDevice& device) {
  for (const Counter& counter : kCounters) {
    const json* before = device.before.find(counter.key);
    const json* after = device.after.find(counter.key);
    if (before == nullptr || after == nullptr || !before->is_number() || !after->is_number()) continue;
    if (after->get<double>() - before->get<double>() > counter.most)
      report(device, counter.rule,
             fmt::format("{}: {} before, {} after", counter.what, before->dump(), after->dump()));
  }
}

void judge_state(AcceptedDevice& device) {
  const auto is_true = [&](const char* key) {
    const json* value = device.after.find(key);
    return value != nullptr && *value == true;
  };
  if (is_true("remap_failed")) report(device, kWorn, "a row of its memory could not be remapped");
  if (is_true("remap_pending")) report(device, kRemap, "a row of its memory waits to be remapped");
  const json* reset = device.after.find("reset_reason");
  if (reset != nullptr && reset->is_string() && !reset->get<std::string>().empty())
    report(device, kReset, "the device requires a reset: " + reset->get<std::string>());
}

// ---- Differences from --expect ----

const char* rule_of(const std::string& key) {
  return key.starts_with("pcie") || key.starts_with("link") ? kLink : kSetting;
}

// Returns the larger of two numbers, because an idle link reports a lower speed.
const json* best_fact(const AcceptedDevice& device, const std::string& key) {
  const json* before = device.before.find(key);
  const json* after = device.after.find(key);
  if (before == nullptr || after == nullptr) return after == nullptr ? before : after;
  return before->is_number() && after->is_number() && *before > *after ? before : after;
}

void judge_expected(const ExpectedModel& expected, AcceptedDevice& device) {
  for (const auto& [key, wanted] : expected.facts) {
    const std::string name = key == "links" ? "links_up" : key;
    const json* got = best_fact(device, name);
    if (got == nullptr) {
      device.gaps.push_back(fmt::format("`{}` is expected, but the card does not report the value", key));
      continue;
    }
    const bool less = wanted.is_number() && got->is_number() && got->get<double>() < wanted.get<double>();
    const bool same_form = wanted.is_number() == got->is_number();
    const bool good = wanted.is_number() ? same_form && !less : *got == wanted;
    if (!good)
      report(device, rule_of(key), fmt::format("`{}` is {}, expected {}", name, got->dump(), wanted.dump()));
  }
}

void add_missing(JudgedDevices& devices, const ExpectedModel& expected, const std::string& id,
                 const std::string& uuid, const std::string& words) {
  AcceptedDevice missing{.id = id, .model = expected.name, .uuid = uuid};
  report(missing, kLink, words);
  devices.emplace(id, std::move(missing));
}

// Compares the UUIDs that the file lists, and the number of devices. If there are more devices than expected, the
// result names those that are not listed.
std::string judge_presence(const ExpectedMachine& machine, const ExpectedModel& expected,
                           JudgedDevices& devices) {
  std::vector<std::string> here, not_pinned;
  for (const auto& [id, device] : devices) {
    if (device.model != expected.name) continue;
    here.push_back(id);
    if (std::ranges::find(expected.uuids, device.uuid) == expected.uuids.end()) not_pinned.push_back(id);
  }
  int missing = 0;
  for (const std::string& uuid : expected.uuids) {
    const bool found =
        std::ranges::any_of(devices, [&](const auto& entry) { return entry.second.uuid == uuid; });
    if (found) continue;
    ++missing;
    add_missing(devices, expected, "missing:" + uuid, uuid,
                fmt::format("{} of {} is not here", uuid, machine.file));
  }
  const int count = static_cast<int>(here.size());
  for (int number = count + missing + 1; number <= expected.count; ++number) {
    add_missing(devices, expected, fmt::format("missing:{}:{}", expected.name, number), "",
                fmt::format("{} of {} devices are here", count, expected.count));
  }
  if (count + missing <= expected.count) return {};
  return fmt::format("{} expects {} of `{}`, and {} are here; not listed: {}", machine.file, expected.count,
                     expected.name, count, fmt::join(not_pinned, ", "));
}

// ---- Findings of the runner ----

// Returns the rule ("xid:48") of an error in the kernel log.
std::string rule_of_kernel(const DeviceHealth& health) {
  const bool is_logged = health.what == HealthFact::kKernelLog;
  return is_logged ? health.evidence.substr(0, health.evidence.find(": ")) : "";
}

constexpr const char* kProbeFailed = "the health probe failed";

// Returns the text for a fault of a device; null for other facts.
const char* fault_text(const HealthWord& fact) {
  if (fact == HealthFact::kLost) return "the device is lost";
  if (fact == HealthFact::kProbeFailed) return kProbeFailed;
  if (fact == HealthFact::kMemoryMissing) return "its memory did not come back";
  if (fact == HealthFact::kKernelLog) return "the kernel logged an error";
  return nullptr;
}

// Maps wrong bytes to a replacement, and a missing response to a reset.
ActionRule rule_of_health(const DeviceHealth& health) {
  const bool is_wrong =
      health.what == HealthFact::kProbeFailed && health.evidence.find("compare") != std::string::npos;
  return is_wrong ? action_for("memory/Contents.MostMemoryKeepsPattern")
                  : action_for("*", Outcome::kDeviceLost);
}

// If the health probe fails in the same way on all of several devices, the software is at fault.
void judge_common_probe(JudgedDevices& devices) {
  std::set<std::string> words;
  std::size_t failed = 0;
  for (const auto& [id, device] : devices) {
    const auto is_probe = [](const AcceptFinding& finding) {
      return finding.words.starts_with(kProbeFailed);
    };
    const auto finding = std::ranges::find_if(device.findings, is_probe);
    if (finding == device.findings.end()) continue;
    words.insert(finding->words);
    ++failed;
  }
  if (failed < 2 || failed < devices.size() || words.size() > 1) return;
  for (auto& [id, device] : devices) {
    for (AcceptFinding& finding : device.findings) finding.rule.action = AcceptAction::kFixSoftware;
  }
}

// Adds a gap for a device that a user drained before or during the run.
void judge_drained(const ResolvedRun& run, JudgedDevices& devices) {
  for (const Warning& warning : run.warnings) {
    if (warning.code != WarningCode::kDeviceDrained) continue;
    const auto device = devices.find(warning.text.substr(0, warning.text.find(' ')));
    if (device == devices.end() || !device->second.findings.empty()) continue;
    device->second.gaps.push_back(warning.text);
    device->second.next = "proctor devices undrain " + device->first;
  }
}

}  // namespace

std::vector<std::string> judge_facts(const AcceptQuestion& question, JudgedDevices& devices) {
  for (auto& [id, device] : devices) {
    judge_counters(device);
    judge_state(device);
    if (!question.expected) continue;
    if (const ExpectedModel* expected = question.expected->find(device.model)) {
      judge_expected(*expected, device);
    } else {
      device.gaps.push_back(fmt::format("{} does not expect a `{}`", question.expected->file, device.model));
    }
  }
  std::vector<std::string> gaps;
  if (!question.expected) return gaps;
  for (const ExpectedModel& expected : question.expected->models) {
    std::string gap = judge_presence(*question.expected, expected, devices);
    if (!gap.empty()) gaps.push_back(std::move(gap));
  }
  return gaps;
}

void judge_health(const ResolvedRun& run, JudgedDevices& devices) {
  for (const DeviceHealth& health : run.health) {
    const auto device = devices.find(health.device);
    if (device == devices.end()) continue;
    if (const char* what = fault_text(health.what)) {
      device->second.findings.push_back({.step = "health",
                                         .case_id = health.case_id,
                                         .words = one_line(fmt::format("{}: {}", what, health.evidence), 200),
                                         .code = rule_of_kernel(health),
                                         .rule = rule_of_health(health)});
    } else if (health.what == HealthFact::kInUse) {
      device->second.gaps.push_back(one_line("other processes use it: " + health.evidence, 200));
    }
  }
  judge_common_probe(devices);
  judge_drained(run, devices);
}

namespace {

// Returns whether the measure is a speed, for which larger is better.
bool is_speed(const Measure& measure) { return measure.unit == "GB/s" || measure.unit == "GFLOP/s"; }

using ByModel = std::pair<std::string, std::string>;  // a model, and the name of a figure or result

// The devices that reported each value.
using ValuesOfDevices = std::map<std::string, std::vector<std::string>>;

// If an attempt has several figures with one name, the device keeps the last one.
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

// Results of a device that computes wrong results are ignored.
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
      // The speed of a simulated device depends on its host.
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
