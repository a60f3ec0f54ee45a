#include "harness/devices/admission/device_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/process/proc_reader.h"

namespace proctor {
namespace {

constexpr Milliseconds kPollAgain{100};
constexpr Milliseconds kNotable{100};  // a longer wait is reported

// Describes a process by its command line, or by its name if it has no command line.
std::string describe_holder(ProcReader& reader, const DeviceHolder& holder) {
  const std::string command = command_of(reader, holder.pid);
  return fmt::format("pid {} ({}) has {} MiB", holder.pid,
                     command.empty() ? "not visible from here" : command, holder.bytes >> 20);
}

// Lists the processes with memory on the device in `finding`, and returns the sum of their bytes.
std::uint64_t add_holders(ProcReader& reader, const DeviceState& state, DeviceFinding& finding) {
  std::uint64_t bytes = 0;
  for (const auto& holder : state.holders.value_or(std::vector<DeviceHolder>{})) {
    if (holder.bytes == 0) continue;
    bytes += holder.bytes;
    finding.detail += (finding.detail.empty() ? "" : ", ") + describe_holder(reader, holder);
    finding.holders += std::to_string(holder.pid) + " ";
  }
  return bytes;
}

// Returns true if a later snapshot can change the finding.
bool may_change(const DeviceFinding& finding) {
  return finding.settled == Settled::kNotBack || (finding.settled == Settled::kForeign && !finding.endured);
}

}  // namespace

HealthFact fact_of(Settled settled) {
  switch (settled) {
    case Settled::kBack:
      return HealthFact::kWaited;
    case Settled::kUnknown:
      return HealthFact::kUnknown;
    case Settled::kForeign:
      return HealthFact::kInUse;
    case Settled::kNotBack:
      return HealthFact::kMemoryMissing;
    case Settled::kLost:
      return HealthFact::kLost;
  }
  return HealthFact::kUnknown;
}

bool is_unhealthy(Settled settled) { return settled == Settled::kNotBack || settled == Settled::kLost; }

std::optional<Warning> warning_of(const DeviceFinding& finding, const std::string& case_id) {
  switch (finding.settled) {
    case Settled::kBack:
      if (finding.waited < kNotable) return std::nullopt;
      return Warning{WarningCode::kDeviceWaited,
                     fmt::format("{} had freed all its memory {} after {}", finding.device,
                                 format_duration(finding.waited), case_id)};
    case Settled::kUnknown:
      if (finding.detail.empty()) return std::nullopt;
      return Warning{WarningCode::kDeviceStateUnknown,
                     fmt::format("{} after {}: {}", finding.device, case_id, finding.detail)};
    case Settled::kForeign:
      return Warning{WarningCode::kDeviceInUse,
                     fmt::format("{} still has {} MiB in use after {}: {}", finding.device,
                                 finding.left_bytes >> 20, case_id, finding.detail)};
    case Settled::kNotBack:
      return Warning{
          WarningCode::kDeviceMemoryMissing,
          fmt::format("{} still has {} MiB allocated {} after {}; the run stops using it", finding.device,
                      finding.left_bytes >> 20, format_duration(finding.waited), case_id)};
    case Settled::kLost:
      return Warning{WarningCode::kDeviceLost, fmt::format("{} after {}: {}; the run stops using it",
                                                           finding.device, case_id, finding.detail)};
  }
  return std::nullopt;
}

std::optional<Warning> warning_before(const DeviceFinding& finding, const std::string& case_id) {
  const auto& device = finding.device;
  const std::string waited = format_duration(finding.waited);
  switch (finding.settled) {
    case Settled::kBack:
      if (finding.waited < kNotable) return std::nullopt;
      return Warning{WarningCode::kDeviceWaited,
                     fmt::format("{} became free after {}; starting {}", device, waited, case_id)};
    case Settled::kForeign:
      if (finding.waited.count() > 0) {
        return Warning{WarningCode::kDeviceInUse,
                       fmt::format("{} is still in use after {}: {}; starting {} anyway", device, waited,
                                   finding.detail, case_id)};
      }
      return Warning{WarningCode::kDeviceInUse,
                     fmt::format("{} is in use before {}: {}", device, case_id, finding.detail)};
    case Settled::kUnknown:
      if (finding.detail.empty()) return std::nullopt;
      return Warning{WarningCode::kDeviceStateUnknown,
                     fmt::format("{} before {}: {}", device, case_id, finding.detail)};
    case Settled::kNotBack:  // reported only after a case
      return std::nullopt;
    case Settled::kLost:
      return Warning{WarningCode::kDeviceLost, fmt::format("{} before {}: {}; the run stops using it", device,
                                                           case_id, finding.detail)};
  }
  return std::nullopt;
}

DeviceChecks::DeviceChecks(boost::asio::io_context& io, std::unique_ptr<DeviceMonitor> monitor,
                           Milliseconds settle)
    : io_(io), monitor_(std::move(monitor)), settle_(settle) {}

void DeviceChecks::begin(std::function<void(const std::string&)> ready) {
  monitor_->take_snapshot([this, ready = std::move(ready)](const DeviceMonitor::Snapshot& snapshot) {
    for (std::size_t i = 0; snapshot && i < snapshot->size(); ++i) {
      if (const auto used = (*snapshot)[i].used_bytes) baseline_[monitor_->ids()[i]] = *used;
    }
    ready(snapshot ? "" : snapshot.error().what);
  });
}

void DeviceChecks::wait_for(const std::vector<std::string>& devices, Find find, Milliseconds limit,
                            OnSettled done) {
  waiting_.push_back({devices, find, limit, std::move(done), Clock::now(), boost::asio::steady_timer(io_)});
  check_again(std::prev(waiting_.end()));
}

void DeviceChecks::settle(const std::vector<std::string>& devices, OnSettled done) {
  wait_for(devices, &DeviceChecks::find_left, settle_, std::move(done));
}

void DeviceChecks::check(const std::vector<std::string>& devices, OnSettled done) {
  wait_for(devices, &DeviceChecks::find_left, Milliseconds(0), std::move(done));
}

void DeviceChecks::find_foreign_holders(const std::vector<std::string>& devices, Milliseconds limit,
                                        OnSettled done) {
  wait_for(devices, &DeviceChecks::find_holders, limit, std::move(done));
}

void DeviceChecks::forget() {
  alive_.renew();
  waiting_.clear();
}

void DeviceChecks::stop(std::function<void()> stopped) {
  alive_.end();
  waiting_.clear();
  monitor_->stop(std::move(stopped));
}

void DeviceChecks::check_again(Wait wait) {
  monitor_->take_snapshot(
      alive_.guard([this, wait](const DeviceMonitor::Snapshot& snapshot) { judge(wait, snapshot); }));
}

void DeviceChecks::judge(Wait wait, const DeviceMonitor::Snapshot& snapshot) {
  const auto waited = std::chrono::duration_cast<Milliseconds>(Clock::now() - wait->began);
  std::vector<DeviceFinding> findings;
  for (const auto& device : wait->devices) {
    findings.push_back(find(wait->find, device, snapshot));
    if (wait->limit.count() > 0) findings.back().waited = waited;  // a single snapshot does not wait
    findings.back().endured = endured_.contains({device, findings.back().holders});
  }
  if (waited < wait->limit && std::any_of(findings.begin(), findings.end(), may_change)) {
    wait->next.expires_after(kPollAgain);
    wait->next.async_wait(alive_.guard([this, wait](const auto& error) {
      if (!error) check_again(wait);
    }));
    return;
  }
  for (const auto& finding : findings) {
    const bool in_vain = finding.settled == Settled::kForeign && wait->limit.count() > 0;
    if (in_vain) endured_.emplace(finding.device, finding.holders);
  }
  const auto done = std::move(wait->done);
  waiting_.erase(wait);
  done(findings);
}

DeviceFinding DeviceChecks::unknown(const std::string& device, const std::string& why) {
  const bool new_to_the_run = reported_.emplace(device, why).second;
  return {.device = device, .settled = Settled::kUnknown, .detail = new_to_the_run ? why : ""};
}

DeviceFinding DeviceChecks::find(Find find, const std::string& device,
                                 const DeviceMonitor::Snapshot& snapshot) {
  const auto id = std::find(monitor_->ids().begin(), monitor_->ids().end(), device);
  if (!snapshot || id == monitor_->ids().end()) {
    DeviceFinding finding =
        unknown(device, snapshot ? "no monitor watches it" : "failed to " + snapshot.error().what);
    finding.is_silent = !snapshot && is_silence(snapshot.error());
    return finding;
  }
  const DeviceState& state = (*snapshot)[static_cast<std::size_t>(id - monitor_->ids().begin())];
  if (!state.problem.empty()) {
    DeviceFinding finding = unknown(device, state.problem);
    finding.is_silent = state.is_silent;
    return finding;
  }
  if (state.state == "ok") return (this->*find)(device, state);
  return {.device = device,
          .settled = Settled::kLost,
          .detail = state.state == "lost" ? "the driver reports it as lost" : state.state};
}

DeviceFinding DeviceChecks::find_left(const std::string& device, const DeviceState& state) {
  if (!state.used_bytes) {
    return unknown(device, "the driver does not report its used memory");
  }
  DeviceFinding finding{.device = device};
  auto& baseline = baseline_.try_emplace(device, *state.used_bytes).first->second;
  baseline = std::min(baseline, *state.used_bytes);
  if (*state.used_bytes <= baseline + kGranularity) return finding;
  finding.left_bytes = *state.used_bytes - baseline;
  finding.settled = add_holders(reader_, state, finding) > 0 ? Settled::kForeign : Settled::kNotBack;
  return finding;
}

// The run holds the lease of the device and its last case has ended. All remaining processes on the device
// are therefore foreign.
DeviceFinding DeviceChecks::find_holders(const std::string& device, const DeviceState& state) {
  if (!state.holders) return unknown(device, "the driver does not report which processes use its memory");
  DeviceFinding finding{.device = device};
  finding.left_bytes = add_holders(reader_, state, finding);
  if (finding.left_bytes > 0) finding.settled = Settled::kForeign;
  return finding;
}

void DeviceNews::note(const std::string& device, HealthFact what, const std::string& case_id,
                      const std::string& evidence, Milliseconds waited, std::uint64_t bytes) {
  const auto at = std::chrono::duration_cast<Milliseconds>(Clock::now() - run_started_);
  sink_.on(DeviceHealth{.device = device,
                        .what = what,
                        .case_id = case_id,
                        .at_ms = at.count(),
                        .wait_ms = waited.count(),
                        .bytes = bytes,
                        .evidence = evidence});
}

void DeviceNews::report_finding(const DeviceFinding& finding, const std::string& case_id,
                                const std::optional<Warning>& warning) {
  if (!warning) return;
  note(finding.device, fact_of(finding.settled), case_id, warning->text, finding.waited, finding.left_bytes);
  warn(*warning);
}

}  // namespace proctor
