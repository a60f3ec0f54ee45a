#include "harness/devices/admission/device_admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "harness/devices/telemetry/device_monitor.h"
#include "harness/journal/outcome_meaning.h"

namespace proctor {

void Examinations::examine(const std::vector<std::string>& devices, const std::string& case_id,
                           std::function<void(const Answers&)> done) {
  auto answers = std::make_shared<Answers>();
  auto left = std::make_shared<std::size_t>(devices.size());
  if (devices.empty()) return done(*answers);
  for (const auto& device : devices) {
    auto add = alive_.guard([this, answers, left, device, done](const HealthAnswer& answer) {
      (*answers)[device] = with_access(device, answer);
      if (--*left == 0) done(*answers);
    });
    if (auto how = request(device, case_id)) {
      checks_.examine(*std::move(how), add);
    } else {
      add(HealthAnswer());
    }
  }
}

// Adds the reason why the device is not accessible, if there is one. A driver that cannot open its device
// finds none, and its probe reports nothing more. After a probe that hung, this does not read the driver's
// files in /proc, which can hang as well.
HealthAnswer Examinations::with_access(const std::string& device, const HealthAnswer& answer) const {
  if (answer.status == HealthStatus::kPass || answer.hung || !rules_) return answer;
  const std::string why = rules_->why_lost(device);
  return why.empty() ? answer : HealthAnswer{.status = HealthStatus::kFail, .words = why, .lost = true};
}

std::optional<HealthRequest> Examinations::request(const std::string& device, const std::string& case_id) {
  auto how = rules_ ? rules_->health_request(device) : std::nullopt;
  if (how) {
    how->leases = pool_.descriptors({device});
  } else if (news_.is_new(device, "no_probe")) {
    const std::string why = "no health probe can check it; the run uses it unchecked";
    report_finding(device, HealthFact::kUnknown, case_id, why, WarningCode::kDeviceStateUnknown, ": " + why);
  }
  return how;
}

bool Examinations::judge(const std::string& device, const HealthAnswer& answer, const std::string& case_id) {
  const std::string& words = answer.words;
  if (answer.reset) {
    monitor_->renew();
    report_finding(device, HealthFact::kReset, case_id, words, WarningCode::kDeviceReset,
                   " was unhealthy and has been reset: " + words);
  }
  switch (answer.status) {
    case HealthStatus::kPass:
      news_.note(device, HealthFact::kProbePassed, case_id, words);
      pool_.found_well(device);
      return true;
    case HealthStatus::kUnknown:
      if (!words.empty() && news_.is_new(device, words))
        report_finding(device, HealthFact::kUnknown, case_id, words, WarningCode::kDeviceStateUnknown,
                       ": " + words);
      return true;
    case HealthStatus::kFail:
      if (answer.lost) {  // other runs can possibly still use it
        report_finding(device, HealthFact::kLost, case_id, words, WarningCode::kDeviceLost,
                       ": " + words + "; the run stops using it");
        pool_.retire({device});
        return false;
      }
      report_finding(device, HealthFact::kProbeFailed, case_id, words, WarningCode::kDeviceHealthFailed,
                     ": " + words + "; the run stops using it");
      drain(device, "health_failed", words, case_id);
      return false;
  }
  return true;
}

void Examinations::report_finding(const std::string& device, HealthFact what, const std::string& case_id,
                                  const std::string& words, WarningCode code, const std::string& text) {
  news_.note(device, what, case_id, words);
  news_.warn({code, fmt::format("{} at {}{}", device, case_id, text)});
}

void Examinations::drain(const std::string& device, const std::string& reason, const std::string& evidence,
                         const std::string& case_id) {
  pool_.drain(device, reason, evidence);
  news_.note(device, HealthFact::kDrained, case_id, reason + ": " + evidence);
}

void Examinations::suspect(const std::string& device, const std::string& why) {
  if (!news_.is_new(device, "silent")) return;
  suspects_.insert(device);
  if (!why.empty()) news_.note(device, HealthFact::kUnknown, "", why);
}

void Examinations::give_up() {
  alive_.renew();
  checks_.give_up();
}

void Examinations::stop(std::function<void()> stopped) {
  alive_.end();
  checks_.stop(std::move(stopped));
}

namespace {

// Programs without the child protocol print the error code of the driver.
constexpr std::string_view kLostCode = "ZE_RESULT_ERROR_DEVICE_LOST";

bool names_loss(const AttemptEnded& ended) {
  const auto has_code = [](const std::string& text) { return text.find(kLostCode) != std::string::npos; };
  return has_code(ended.output.stdout_tail) || has_code(ended.output.stderr_tail) ||
         std::any_of(ended.failures.begin(), ended.failures.end(), [&](const Failure& failure) {
           return has_code(failure.message) || has_code(failure.got);
         });
}

}  // namespace

bool poisons_process(const AttemptEnded& ended) {
  constexpr std::array<std::string_view, 5> kSticky = {"device_lost", "ecc", "fabric", "gpu_fault",
                                                       "gpu_hang"};
  return is_bad(ended.verdict.outcome) &&
         (names_loss(ended) ||
          (ended.diagnosis && std::ranges::find(kSticky, ended.diagnosis->error_class) != kSticky.end()));
}

bool raises_suspicion(const AttemptEnded& ended, bool expected) {
  switch (meaning_of(ended.verdict).suspicion) {
    case DeviceSuspicion::kNone:
      return false;
    case DeviceSuspicion::kYes:
      return true;
    case DeviceSuspicion::kUnlessExpected:
      return !expected || names_loss(ended);
    case DeviceSuspicion::kUnlessNotStarted:  // the case did not start, so it used no device
      return ended.verdict.reason != Reason::kSpawn || names_loss(ended);
  }
  return true;
}

DeviceAdmission::DeviceAdmission(boost::asio::io_context& io, Containment& containment,
                                 const DeviceCheckSetup& setup, DevicePool& pool, EventSink& sink,
                                 Clock::time_point run_started)
    : setup_(setup),
      pool_(pool),
      news_(sink, run_started),
      device_checks_(setup.monitor ? std::make_unique<DeviceChecks>(
                                         io, std::make_unique<DeviceMonitor>(io, containment, *setup.monitor),
                                         setup.memory_wait)
                                   : nullptr),
      examinations_(io, containment, setup.rules, pool, news_, monitor()) {}

void DeviceAdmission::begin(std::function<void()> ready) {
  if (!device_checks_) return ready();
  device_checks_->begin([this, ready = std::move(ready)](const std::string& problem) {
    if (!problem.empty()) news_.warn({WarningCode::kDeviceStateUnknown, "failed to " + problem});
    for (const auto& [device, bytes] : device_checks_->baseline())
      news_.note(device, HealthFact::kBaseline, "", "", {}, bytes);
    ready();
  });
}

// ---- before a case ----

void DeviceAdmission::enter(const std::vector<std::string>& devices, const std::string& case_id,
                            bool suspicion, OnEntry done) {
  if (!device_checks_ || devices.empty()) return done({});
  admission_.push_back({.devices = devices, .case_id = case_id, .entry = std::move(done)});
  const auto admission = std::prev(admission_.end());
  std::vector<std::string> doubtful;
  for (const auto& device : devices) {
    const bool unproven = setup_.prove && proven_.insert(device).second;
    const bool suspect = examinations_.take_suspicion(device);
    if (suspicion || unproven || suspect || pool_.left_dirty(device)) doubtful.push_back(device);
  }
  examinations_.examine(doubtful, admission->case_id,
                        [this, admission](const Answers& answers) { after_dirty(admission, answers); });
}

void DeviceAdmission::after_dirty(AdmissionIterator admission, const Answers& answers) {
  bool well = true;
  for (const auto& [device, answer] : answers)
    well = examinations_.judge(device, answer, admission->case_id) && well;
  if (well) return find_foreign_holders(admission);
  enter_now(admission, {.open = false});
}

void DeviceAdmission::find_foreign_holders(AdmissionIterator admission) {
  device_checks_->find_foreign_holders(
      admission->devices, Milliseconds(0),
      [this, admission](const auto& findings) { judge_holders(admission, findings); });
}

void DeviceAdmission::judge_holders(AdmissionIterator admission, const std::vector<DeviceFinding>& findings) {
  suspect_silent(findings);
  std::vector<DeviceFinding> foreign;
  for (const auto& finding : findings) {
    if (finding.settled == Settled::kForeign) {
      foreign.push_back(finding);
    } else {
      news_.report_finding(finding, admission->case_id, warning_before(finding, admission->case_id));
    }
  }
  if (drain_lost(admission, findings)) return enter_now(admission, {.open = false});
  if (foreign.empty()) return enter_now(admission, {});
  apply_policy(admission, foreign);
}

void DeviceAdmission::apply_policy(AdmissionIterator admission, const std::vector<DeviceFinding>& foreign) {
  std::string who;
  bool endured = true;
  for (const auto& finding : foreign) {
    const Warning warning = *warning_before(finding, admission->case_id);
    who += (who.empty() ? "" : "; ") + warning.text;
    endured = endured && (finding.endured || finding.holders == pool_.endured(finding.device));
    if (news_.is_new(finding.device, finding.holders))
      news_.report_finding(finding, admission->case_id, warning);
  }
  switch (setup_.device_in_use) {
    case ForeignPolicy::kFail:
      return enter_now(
          admission, {.open = false, .refused = Verdict{Outcome::kError, Reason::kDeviceInUse}, .note = who});
    case ForeignPolicy::kOther:
      for (const auto& finding : foreign) {
        pool_.leave_out(finding.device, fmt::format("{} is in use: {}", finding.device, finding.detail));
      }
      return enter_now(admission, {.open = false});
    case ForeignPolicy::kWait:
      break;
  }
  if (endured) return enter_now(admission, {});
  device_checks_->find_foreign_holders(
      admission->devices, setup_.memory_wait,
      [this, admission](const auto& findings) { after_waiting(admission, findings); });
}

void DeviceAdmission::after_waiting(AdmissionIterator admission, const std::vector<DeviceFinding>& findings) {
  for (const auto& finding : findings) {
    news_.report_finding(finding, admission->case_id, warning_before(finding, admission->case_id));
    if (finding.settled == Settled::kForeign) pool_.endure(finding.device, finding.holders);
  }
  const bool lost = drain_lost(admission, findings);
  enter_now(admission, {.open = !lost});
}

bool DeviceAdmission::drain_lost(AdmissionIterator admission, const std::vector<DeviceFinding>& findings) {
  bool any = false;
  for (const auto& finding : findings) {
    if (finding.settled != Settled::kLost) continue;
    any = true;
    drain(finding.device, std::string(to_string(HealthFact::kLost)), finding.detail, admission->case_id);
  }
  return any;
}

void DeviceAdmission::enter_now(AdmissionIterator admission, const Entry& entry) {
  const auto done = std::move(admission->entry);
  admission_.erase(admission);
  done(entry);
}

void DeviceAdmission::suspect_silent(const std::vector<DeviceFinding>& findings) {
  for (const auto& finding : findings) {
    if (finding.is_silent)
      examinations_.suspect(finding.device, "");  // the warning about an unknown state comes with the case
  }
}

// ---- after a case ----

void DeviceAdmission::leave(const std::vector<std::string>& devices, const std::string& case_id,
                            bool suspicion, OnLeft done) {
  if (!device_checks_ || devices.empty()) return done({});
  admission_.push_back({.devices = devices, .case_id = case_id, .left = std::move(done)});
  const auto admission = std::prev(admission_.end());
  device_checks_->settle(devices, [this, admission, suspicion](const auto& findings) {
    after_settling(admission, findings, suspicion);
  });
}

void DeviceAdmission::after_settling(AdmissionIterator admission, const std::vector<DeviceFinding>& findings,
                                     bool suspicion) {
  std::vector<std::string> doubtful;
  suspect_silent(findings);
  for (const auto& finding : findings) {
    const bool suspect = examinations_.take_suspicion(finding.device);
    const bool missing = finding.settled == Settled::kNotBack;
    if (finding.settled == Settled::kLost && setup_.reset) {
      admission->result.lost = finding.device;
      news_.note(finding.device, HealthFact::kLost, admission->case_id, finding.detail);
      doubtful.push_back(finding.device);
      continue;
    }
    if (missing) admission->not_back.push_back(finding);
    if (!missing) {
      const auto warning = warning_of(finding, admission->case_id);
      const bool foreign = finding.settled == Settled::kForeign;
      if (!foreign || news_.is_new(finding.device, finding.holders))
        news_.report_finding(finding, admission->case_id, warning);
      if (finding.settled == Settled::kLost) {
        admission->result.any_unhealthy = true;
        admission->result.lost = finding.device;
        drain(finding.device, std::string(to_string(HealthFact::kLost)), warning ? warning->text : "",
              admission->case_id);
        continue;
      }
    }
    if (missing || suspicion || suspect) doubtful.push_back(finding.device);
  }
  examinations_.examine(doubtful, admission->case_id,
                        [this, admission](const Answers& answers) { after_suspicion(admission, answers); });
}

// To open a device and close it again can free memory that a dead process left there. Therefore the memory is
// checked again after the examination.
void DeviceAdmission::after_suspicion(AdmissionIterator admission, const Answers& answers) {
  for (const auto& [device, answer] : answers) {
    const bool well = examinations_.judge(device, answer, admission->case_id);
    if (!well || answer.reset) {
      admission->result.unhealthy = device;
      admission->result.words = answer.words;
    }
    if (well) continue;
    admission->result.any_unhealthy = true;
    std::erase_if(admission->not_back,
                  [&](const DeviceFinding& finding) { return finding.device == device; });
  }
  if (admission->not_back.empty()) return leave_now(admission);
  std::vector<std::string> devices;
  for (const auto& finding : admission->not_back) devices.push_back(finding.device);
  device_checks_->check(devices, [this, admission](const auto& findings) { last_word(admission, findings); });
}

void DeviceAdmission::last_word(AdmissionIterator admission, const std::vector<DeviceFinding>& findings) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    DeviceFinding finding = findings[i];
    finding.waited += admission->not_back[i].waited;
    const auto warning = warning_of(finding, admission->case_id);
    news_.report_finding(finding, admission->case_id, warning);
    if (!is_unhealthy(finding.settled)) continue;
    admission->result.any_unhealthy = true;
    if (finding.settled == Settled::kLost) admission->result.lost = finding.device;
    drain(finding.device, std::string(to_string(fact_of(finding.settled))), warning ? warning->text : "",
          admission->case_id);
  }
  leave_now(admission);
}

void DeviceAdmission::leave_now(AdmissionIterator admission) {
  const auto done = std::move(admission->left);
  const Left result = admission->result;
  admission_.erase(admission);
  done(result);
}

// ---- the kernel log ----

void DeviceAdmission::error_logged(const DeviceError& error, const std::string& case_id, bool passed) {
  if (!error.by_machine && !passed) return;  // the diagnosis of the case reports it
  const bool is_new = news_.is_new(error.device, error.rule);
  const std::string at = case_id.empty() ? "" : " at " + case_id;
  if (is_new)
    news_.warn({WarningCode::kKernelLog,
                fmt::format("{}{}: {} ({}). {}", error.device, at, error.line, error.rule, error.next)});
  if (!error.by_machine || error.severity == Gravity::kNote) return;
  news_.note(error.device, HealthFact::kKernelLog, case_id, fmt::format("{}: {}", error.rule, error.line));
  // A suspect line of one rule in each of a thousand cases costs only one probe.
  if (is_new || error.severity != Gravity::kSuspect) examinations_.suspicion(error.device);
}

// ---- the end ----

void DeviceAdmission::give_up() {
  examinations_.give_up();
  if (device_checks_) device_checks_->forget();
  for (const auto& admission : std::exchange(admission_, {})) {
    if (admission.entry) admission.entry({.open = false});
    if (admission.left) admission.left(admission.result);
  }
}

void DeviceAdmission::stop(std::function<void()> stopped) {
  examinations_.stop([this, stopped = std::move(stopped)] {
    if (!device_checks_) return stopped();
    device_checks_->stop(stopped);
  });
}

}  // namespace proctor
