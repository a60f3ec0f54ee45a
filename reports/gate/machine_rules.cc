// The rules about the machines of a cell: their stacks and their devices.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/events.h"
#include "reports/gate/gate_rules.h"

namespace proctor::judging {
namespace {

// Evidence that a run was on hardware. It comes from the kernel, not from a driver. Each missing fact leaves the cell
// without hardware, and is named.

const HardwareEvidence* find(const std::vector<HardwareEvidence>& all, const std::string& id,
                             std::string_view when) {
  const auto found =
      std::ranges::find_if(all, [&](const HardwareEvidence& e) { return e.id == id && e.when == when; });
  return found != all.end() ? &*found : nullptr;
}

Texts drivers_of(const std::string& backend) {
  return backend == "cuda" ? Texts{"nvidia"} : Texts{"xe", "i915"};
}

// Returns why the fact is unknown, as the runner recorded it: "kernel_driver: none is bound".
std::string gap_of(const HardwareEvidence& said, const std::string& fact) {
  const auto gap =
      std::ranges::find_if(said.gaps, [&](const std::string& text) { return text.starts_with(fact + ": "); });
  return gap != said.gaps.end() ? *gap : fact + " is unknown";
}

constexpr std::pair<const char*, std::string HardwareEvidence::*> kFacts[] = {
    {"pci", &HardwareEvidence::pci},
    {"vendor", &HardwareEvidence::vendor},
    {"device", &HardwareEvidence::device},
    {"kernel_driver", &HardwareEvidence::kernel_driver},
    {"driver_file", &HardwareEvidence::driver_file},
    {"driver_build_id", &HardwareEvidence::driver_build_id},
    {"boot_id", &HardwareEvidence::boot_id}};

void check_facts(const PlannedDevice& device, const HardwareEvidence& said, Texts& missing) {
  const auto miss = [&](const std::string& what) {
    missing.push_back(fmt::format("{} (at the {})", what, said.when));
  };
  for (const auto& [name, fact] : kFacts) {
    if ((said.*fact).empty()) miss(gap_of(said, name));
  }
  const std::string vendor = device.backend == "cuda" ? "10de" : "8086";
  if (!said.vendor.empty() && said.vendor != vendor)
    miss(fmt::format("vendor is {}, and not {}", said.vendor, vendor));
  const Texts drivers = drivers_of(device.backend);
  if (!said.kernel_driver.empty() && std::ranges::find(drivers, said.kernel_driver) == drivers.end())
    miss(fmt::format("kernel_driver is {}, and not {}", said.kernel_driver, joined(drivers, " or ")));
  if (!said.pci.empty() && said.pci != device.pci)
    miss(fmt::format("pci is {}, and the probe found {}", said.pci, device.pci));
  if (said.simulator) miss(fmt::format("driver_file is a simulator, {}", said.driver_file));
}

void check_kept(const HardwareEvidence& start, const HardwareEvidence& end, Texts& missing) {
  for (const auto& [name, fact] : kFacts) {
    if (start.*fact != end.*fact)
      missing.push_back(
          fmt::format("{} was {} at the start, and {} at the end", name, start.*fact, end.*fact));
  }
}

// Returns the facts that are missing before this device counts as hardware: "no evidence at the start", "kernel_driver
// is vfio-pci, and not xe or i915". `probed`: the health probe copied, computed and compared on the device in this run.
std::vector<std::string> missing_evidence(const PlannedDevice& device,
                                          const std::vector<HardwareEvidence>& evidence, bool probed) {
  Texts missing;
  if (device.simulated) missing.emplace_back("it is simulated");
  const HardwareEvidence* start = find(evidence, device.id, "start");
  const HardwareEvidence* end = find(evidence, device.id, "end");
  if (start == nullptr) missing.emplace_back("no evidence at the start");
  if (end == nullptr) missing.emplace_back("no evidence at the end");
  for (const HardwareEvidence* said : {start, end}) {
    if (said != nullptr) check_facts(device, *said, missing);
  }
  if (start != nullptr && end != nullptr) check_kept(*start, *end, missing);
  if (!probed) missing.emplace_back("no health probe passed on it in this run (`run --probe-devices`)");
  return missing;
}

void stack_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "any stack";
  finding.value = "not compared";
  if (view.cell.stack.empty()) return;
  const GateLock& lock = view.all.inputs.locks.at(view.cell.stack);
  finding.limit = fmt::format("the stack {}, lock sha256:{}", view.cell.stack, lock.sha256);
  std::set<std::string> values;
  for (const GateReport* report : view.reports) {
    const std::string its = fact(*report, "image.lock");
    values.insert(its.empty() ? "unknown" : its);
    if (its != "sha256:" + lock.sha256)
      fail_rule(finding, fmt::format("{} ran in an image of the lock {}, but the lock is sha256:{}",
                                     report->name(), its.empty() ? "that is unknown" : its, lock.sha256));
    if (was_given(report->run.plan, "stack_root"))
      fail_rule(finding, report->name() + " read its stack below another directory: `stack_root`");
    const auto differences = lock.differences.find(report->sha256);
    if (differences == lock.differences.end()) continue;
    for (const std::string& difference : differences->second)
      fail_rule(finding, fmt::format("{}: {}", report->name(), difference));
  }
  finding.value = listed(values);
}

void stack_kept_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "no stack changed during a run";
  const auto changed = ask_each_run(view, finding, [](const GateReport& report) {
    Texts why;
    for (const Warning& warning : report.run.warnings) {
      if (warning.code == WarningCode::kStackChanged)
        why.push_back(fmt::format("the stack of {} changed: {}", report.name(), clean_text(warning.text)));
    }
    return why;
  });
  finding.value = count_text(changed, "change");
}

// Returns "" if Level Zero's loader loaded the driver of the machine.
std::string other_driver_of(const ResolvedCase& test) {
  for (const Attempt& attempt : test.attempts) {
    if (std::string other = other_driver_in(attempt.environment()); !other.empty()) return other;
    if (!attempt.end) continue;
    for (const RankEnd& rank : attempt.end->ranks) {
      if (std::string other = other_driver_in(rank.environment); !other.empty()) return other;
    }
  }
  return "";
}

// Returns why runs of the cell are not evidence of hardware.
std::set<std::string> simulated_in(const CellView& view) {
  std::set<std::string> why;
  for (const GateReport* report : view.reports) {
    if (!view.has_case_in(*report)) continue;
    if (was_given(report->run.plan, "stack_root"))
      why.insert(report->name() + " read its stack below another directory: `stack_root`");
    if (report->run.plan.sim) why.insert(report->name() + " is simulated: " + report->run.plan.sim->topology);
    std::string other;
    view.for_each_case_of(*report, [&](const ResolvedCase& test) {
      if (test.simulated) why.insert(report->name() + " is simulated");
      if (other.empty()) other = other_driver_of(test);
    });
    if (!other.empty())
      why.insert(fmt::format("{}: the loader loaded another driver, {}", report->name(), other));
  }
  return why;
}

bool was_probed(const ResolvedRun& run, const std::string& device) {
  return std::ranges::any_of(run.health, [&](const DeviceHealth& health) {
    return health.what == HealthFact::kProbePassed && health.device == device;
  });
}

void hardware_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.cell.hardware ? "evidence of the kernel for each device" : "not required";
  const std::set<std::string> simulated = simulated_in(view);
  Texts missing;
  for (const auto& [report, device, busy] : view.devices) {
    const Texts facts = missing_evidence(device, report.run.hardware, was_probed(report.run, device.id));
    if (facts.empty()) continue;
    missing.push_back(
        fmt::format("{}, {} ({}): {}", report.name(), device.id, device.name, joined(facts, "; ")));
  }
  finding.value = simulated.empty() ? fmt::format("{} of {}", view.devices.size() - missing.size(),
                                                  count_text(view.devices.size(), "device"))
                                    : "simulated";
  if (!view.cell.hardware) return;
  for (const std::string& why : simulated) fail_rule(finding, why);
  for (std::string& why : missing) fail_rule(finding, std::move(why));
}

void model_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.cell.device.empty() ? "any model" : view.cell.device;
  std::set<std::string> models;
  for (const auto& [report, device, busy] : view.devices) {
    models.insert(device.name);
    if (!view.cell.device.empty() && !glob_match(view.cell.device, device.name))
      fail_rule(finding, fmt::format("{} executed cases on {}, which is {}", report.name(), device.id,
                                     device.name.empty() ? "of no known model" : device.name));
  }
  finding.value = models.empty() ? "none" : listed(models);
}

// Returns an identity of the card that does not depend on the names that its machine has.
std::string identity(const GateReport& report, const PlannedDevice& device) {
  if (!device.uuid.empty()) return device.uuid;
  for (const HardwareEvidence& evidence : report.run.hardware) {
    if (evidence.id == device.id && !evidence.boot_id.empty() && !evidence.pci.empty())
      return evidence.boot_id + "/" + evidence.pci;
  }
  return report.run.plan.hostname + "/" + device.id;
}

void devices_rule(const CellView& view, GateFinding& finding) {
  std::set<std::string> used;
  for (const auto& [report, device, busy] : view.devices) {
    if (view.cell.device.empty() || glob_match(view.cell.device, device.name))
      used.insert(identity(report, device));
  }
  finding.limit = fmt::format("at least {}", view.cell.devices);
  finding.value = std::to_string(used.size());
  if (static_cast<int>(used.size()) >= view.cell.devices) return;
  std::set<std::string> idle;
  for (const GateReport* report : view.reports) {
    for (const PlannedDevice& device : report->run.plan.devices) {
      if (device.backend == view.cell.backend && !used.contains(identity(*report, device)))
        idle.insert(report->run.plan.hostname + "/" + device.id);
    }
  }
  fail_rule(finding, fmt::format("{} executed something, and {} must", count_text(used.size(), "device"),
                                 view.cell.devices) +
                         (idle.empty() ? "" : "; these did not: " + listed(idle)));
}

// Returns the total time that the spans cover. Overlapping times count once.
std::int64_t covered_ms(std::vector<GateSpan> spans) {
  std::ranges::sort(spans, {}, &GateSpan::begin);
  std::int64_t covered = 0;
  std::int64_t until = 0;
  for (const GateSpan& span : spans) {
    covered += std::max<std::int64_t>(span.end - std::max(span.begin, until), 0);
    until = std::max(until, span.end);
  }
  return covered;
}

// Returns the busy time of all cards. Times of one card in concurrent runs count once.
std::int64_t busy_ms(const CellView& view) {
  std::map<std::string, std::vector<GateSpan>> spans;
  for (const CellDevice& one : view.devices) {
    auto& its = spans[identity(one.report, one.device)];
    its.insert(its.end(), one.busy.begin(), one.busy.end());
  }
  std::int64_t busy = 0;
  for (auto& [device, its] : spans) busy += covered_ms(std::move(its));
  return busy;
}

void soak_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "not required";
  std::int64_t resets = 0;
  for (const GateReport* report : view.reports)
    resets += std::ranges::count_if(report->run.health, [](const DeviceHealth& health) {
      return health.what == HealthFact::kReset || health.what == HealthFact::kLost ||
             health.what == HealthFact::kDrained;
    });
  const double device_hours = static_cast<double>(busy_ms(view)) / kMsOfHour;
  finding.value = fmt::format("{:.3f} device hours, {} resets", device_hours, resets);
  if (!view.cell.soak) return;
  const GateSoak& soak = *view.cell.soak;
  finding.limit = fmt::format("at least {} device hours, at most {} resets", soak.device_hours, soak.resets);
  if (device_hours < soak.device_hours)
    fail_rule(finding,
              fmt::format("{:.3f} device hours, and {} are required", device_hours, soak.device_hours));
  if (resets > soak.resets)
    fail_rule(finding, fmt::format("devices were reset, lost or drained {} times, and {} are allowed", resets,
                                   soak.resets));
}

constexpr CellRule kMachineRules[] = {{"stack", stack_rule},       {"stack_unchanged", stack_kept_rule},
                                      {"hardware", hardware_rule}, {"model", model_rule},
                                      {"devices", devices_rule},   {"soak", soak_rule}};

}  // namespace

std::span<const CellRule> machine_rules() { return kMachineRules; }

}  // namespace proctor::judging
