#include "harness/runner/attempt/diagnose.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "harness/base/backend.h"
#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/classify/classify.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

std::string value_of(const std::vector<std::string>& environment, const std::string& name) {
  const std::string prefix = name + "=";
  const auto found = std::find_if(environment.begin(), environment.end(),
                                  [&prefix](const std::string& entry) { return entry.starts_with(prefix); });
  return found == environment.end() ? "" : found->substr(prefix.size());
}

// Returns field 4 of /proc/PID/stat, after the last ')': the name in field 2 may contain any character.
int parent_of(int pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  const auto end_of_name = stat ? stat->rfind(')') : std::string::npos;
  if (end_of_name == std::string::npos || end_of_name + 4 >= stat->size()) return 0;
  return std::atoi(stat->c_str() + end_of_name + 4);
}

// Returns whether a process with this pid and name exists and is not a descendant of the runner. The name is compared
// because a container has a separate range of pids.
bool is_of_somebody_else(const KernelProcess& process) {
  const auto name = read_file(fmt::format("/proc/{}/comm", process.pid));
  if (!name || process.name.empty() || *name != process.name + "\n") return false;
  for (int pid = process.pid; pid > 1; pid = parent_of(pid)) {
    if (pid == ::getpid()) return false;
  }
  return true;
}

std::vector<std::string> addresses_of(const std::vector<LeasedAddress>& devices) {
  std::vector<std::string> addresses;
  for (const auto& device : devices) {
    if (!device.pci.empty()) addresses.push_back(device.pci);
  }
  return addresses;
}

// Adds the texts of the case: its failures, then its output.
void add_words(const AttemptEnded& event, Symptoms& symptoms) {
  for (const Failure& failure : event.failures) {
    symptoms.got.push_back(failure.got);
    symptoms.said.push_back(failure.message);
    symptoms.expected.push_back(failure.expected);
  }
  symptoms.said.push_back(event.output.stderr_tail);
  symptoms.said.push_back(event.output.stdout_tail);
}

// Returns the device that the line names, or the first device if the line names none.
std::string device_in(const std::string& line, const std::vector<LeasedAddress>& devices) {
  for (const auto& device : devices) {
    if (!lines_about({KernelLine{.text = line}}, {device.pci}).empty()) return device.id;
  }
  return devices.empty() ? "" : devices.front().id;
}

}  // namespace

Diagnoser::Devices Diagnoser::devices_in(const std::vector<std::string>& environment) const {
  const bool simulated = !value_of(environment, child::kSimTopologyVariable).empty();
  const auto list = parse_json(value_of(environment, child::kDevicesVariable));
  Devices devices;
  if (!list.is_array()) return devices;
  for (const auto& entry : list) {
    devices.push_back({.id = entry.value("id", ""), .pci = entry.value("pci", "")});
    if (simulated && !log_.is_stand_in()) devices.back().pci.clear();
  }
  return devices;
}

std::vector<std::string> Diagnoser::gaps(const KernelLog::Lines& window, const Devices& devices,
                                         bool was_killed) const {
  std::vector<std::string> gaps;
  const bool asked = log_.is_stand_in() || was_killed || !addresses_of(devices).empty();
  if (asked && !log_.problem().empty()) gaps.push_back(log_.problem());
  if (window.lost > 0)
    gaps.push_back(
        fmt::format("{} lines of the kernel log were overwritten before they were read", window.lost));
  return gaps;
}

KernelEvidence Diagnoser::evidence(KernelLog::Position since, const Devices& devices) {
  const auto window = log_.since(since);
  KernelEvidence evidence;
  for (const KernelLine& line : lines_about(window.lines, addresses_of(devices)))
    evidence.lines.push_back(line.text);
  for (const std::string& gap : gaps(window, devices, /*was_killed=*/false))
    evidence.gap += (evidence.gap.empty() ? "" : "; ") + gap;
  return evidence;
}

std::vector<DeviceError> Diagnoser::device_errors(KernelLog::Position since, const Devices& devices) {
  std::vector<DeviceError> errors;
  for (const LeasedAddress& device : devices) {
    if (device.pci.empty()) continue;
    Searched& searched = searched_.try_emplace(device.id, Searched{device.pci, since}).first->second;
    const auto window = log_.since(searched.end);
    searched.end = window.end;
    const bool is_nvidia = device.id.starts_with(to_string(Backend::kCuda));
    for (const auto& [rule, line] :
         kernel_errors(rules(), window.lines, device.pci, is_nvidia ? "nvidia" : "intel")) {
      const auto process = process_of(line);
      const bool by_machine = rule->problem == FailureOwner::kMachine;
      if (!by_machine && process && is_of_somebody_else(*process)) continue;
      errors.push_back({.device = device.id,
                        .rule = rule->id,
                        .by_machine = by_machine,
                        .severity = rule->severity,
                        .line = line,
                        .next = rule->next});
    }
  }
  return errors;
}

void Diagnoser::report_device_errors(KernelLog::Position since, const Devices& devices,
                                     const AttemptEnded& event) {
  if (!listener_) return;
  for (const DeviceError& error : device_errors(since, devices)) listener_(error, event);
}

std::vector<DeviceError> Diagnoser::late_device_errors() {
  Devices devices;
  for (const auto& [id, searched] : searched_) devices.push_back({.id = id, .pci = searched.pci});
  return device_errors(0, devices);
}

std::uint64_t count_oom_kills() {
  std::istringstream lines(read_file_or_empty("/proc/vmstat"));
  std::string name;
  std::uint64_t value = 0;
  while (lines >> name >> value) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

// Returns evidence of the counters if the kernel log has no line. Each kill of the machine's counter explains one
// attempt only.
std::string Diagnoser::killed_for_memory(std::uint64_t oom_kills) {
  if (oom_kills > 0) return fmt::format("oom_kill rose by {} in memory.events of its cgroup", oom_kills);
  if (log_.problem().empty() || count_oom_kills() <= machine_oom_kills_) return "";
  ++machine_oom_kills_;
  return "oom_kill rose in /proc/vmstat of this machine";
}

void Diagnoser::judge(KernelLog::Position since, const Devices& devices, AttemptEnded& event, EventSink& sink,
                      std::uint64_t oom_kills) {
  if (!is_bad(event.verdict.outcome) || event.verdict.outcome == Outcome::kNotrun) return;
  const auto window = log_.since(since);
  Symptoms symptoms{.verdict = event.verdict,
                    .kernel = window.lines,
                    .pci = addresses_of(devices),
                    .is_foreign = is_of_somebody_else};
  add_words(event, symptoms);
  const bool was_killed = event.verdict.reason.value_of(Reason::kSignal) == "9" ||
                          event.verdict.reason.value_of(Reason::kExit) == "137";
  if (was_killed) {
    if (const std::string line = killed_for_memory(oom_kills); !line.empty())
      symptoms.kernel.push_back(KernelLine{.text = line});
  }
  Diagnosis diagnosis = classify(rules(), symptoms);
  diagnosis.gaps = gaps(window, devices, was_killed);
  event.verdict = corrected(rules(), diagnosis, event.verdict);
  if (event.verdict.outcome == Outcome::kDeviceLost && event.verdict.reason.empty())
    event.verdict.reason = {Reason::kDevice, device_in(diagnosis.line, devices)};
  const auto& missing = diagnosis.gaps;
  if (!reported_ && std::find(missing.begin(), missing.end(), log_.problem()) != missing.end()) {
    reported_ = true;
    sink.on(Warning{WarningCode::kKernelLog, log_.problem()});
  }
  event.diagnosis = std::move(diagnosis);
}

}  // namespace proctor
