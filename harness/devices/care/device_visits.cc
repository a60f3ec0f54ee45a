#include "harness/devices/care/device_visits.h"

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

// A driver that cannot open its device finds none, and its probe says no more than that. Where the probe hung, the
// driver's files in /proc may hang as well: they are not read.
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
    tell(device, HealthFact::kUnknown, case_id, why, WarningCode::kDeviceStateUnknown, ": " + why);
  }
  return how;
}

bool Examinations::judge(const std::string& device, const HealthAnswer& answer, const std::string& case_id) {
  const std::string& words = answer.words;
  if (answer.reset) {
    monitor_->renew();
    tell(device, HealthFact::kReset, case_id, words, WarningCode::kDeviceReset,
         " was unhealthy and has been reset: " + words);
  }
  switch (answer.status) {
    case HealthStatus::kPass:
      news_.note(device, HealthFact::kProbePassed, case_id, words);
      pool_.found_well(device);
      return true;
    case HealthStatus::kUnknown:
      if (!words.empty() && news_.is_new(device, words))
        tell(device, HealthFact::kUnknown, case_id, words, WarningCode::kDeviceStateUnknown, ": " + words);
      return true;
    case HealthStatus::kFail:
      if (answer.lost) {  // others may still use it
        tell(device, HealthFact::kLost, case_id, words, WarningCode::kDeviceLost,
             ": " + words + "; the run stops using it");
        pool_.retire({device});
        return false;
      }
      tell(device, HealthFact::kProbeFailed, case_id, words, WarningCode::kDeviceHealthFailed,
           ": " + words + "; the run stops using it");
      drain(device, "health_failed", words, case_id);
      return false;
  }
  return true;
}

void Examinations::tell(const std::string& device, HealthFact what, const std::string& case_id,
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

void Examinations::stop(std::function<void()> gone) {
  alive_.end();
  checks_.stop(std::move(gone));
}

namespace {

// Programs that do not speak our protocol print what the driver answered.
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

bool casts_doubt(const AttemptEnded& ended, bool expected) {
  switch (meaning_of(ended.verdict).doubt) {
    case DeviceDoubt::kNone:
      return false;
    case DeviceDoubt::kYes:
      return true;
    case DeviceDoubt::kUnlessExpected:
      return !expected || names_loss(ended);
    case DeviceDoubt::kUnlessNotStarted:  // that has touched nothing
      return ended.verdict.reason != Reason::kSpawn || names_loss(ended);
  }
  return true;
}

DeviceVisits::DeviceVisits(boost::asio::io_context& io, Containment& containment, const CareSetup& setup,
                           DevicePool& pool, EventSink& sink, Clock::time_point run_started)
    : setup_(setup),
      pool_(pool),
      news_(sink, run_started),
      care_(setup.monitor
                ? std::make_unique<DeviceCare>(
                      io, std::make_unique<DeviceMonitor>(io, containment, *setup.monitor), setup.memory_wait)
                : nullptr),
      examinations_(io, containment, setup.rules, pool, news_, monitor()) {}

void DeviceVisits::begin(std::function<void()> ready) {
  if (!care_) return ready();
  care_->begin([this, ready = std::move(ready)](const std::string& problem) {
    if (!problem.empty()) news_.warn({WarningCode::kDeviceStateUnknown, "failed to " + problem});
    for (const auto& [device, bytes] : care_->baseline())
      news_.note(device, HealthFact::kBaseline, "", "", {}, bytes);
    ready();
  });
}

// ---- before a case ----

void DeviceVisits::enter(const std::vector<std::string>& devices, const std::string& case_id, bool doubt,
                         OnEntry done) {
  if (!care_ || devices.empty()) return done({});
  visits_.push_back({.devices = devices, .case_id = case_id, .entry = std::move(done)});
  const auto visit = std::prev(visits_.end());
  std::vector<std::string> doubtful;
  for (const auto& device : devices) {
    const bool unproven = setup_.prove && proven_.insert(device).second;
    const bool suspect = examinations_.take_suspicion(device);
    if (doubt || unproven || suspect || pool_.left_dirty(device)) doubtful.push_back(device);
  }
  examinations_.examine(doubtful, visit->case_id,
                        [this, visit](const Answers& answers) { after_dirty(visit, answers); });
}

void DeviceVisits::after_dirty(VisitIterator visit, const Answers& answers) {
  bool well = true;
  for (const auto& [device, answer] : answers)
    well = examinations_.judge(device, answer, visit->case_id) && well;
  if (well) return find_foreign_holders(visit);
  enter_now(visit, {.open = false});
}

void DeviceVisits::find_foreign_holders(VisitIterator visit) {
  care_->find_foreign_holders(visit->devices, Milliseconds(0),
                              [this, visit](const auto& findings) { judge_holders(visit, findings); });
}

void DeviceVisits::judge_holders(VisitIterator visit, const std::vector<DeviceFinding>& findings) {
  suspect_silent(findings);
  std::vector<DeviceFinding> foreign;
  for (const auto& finding : findings) {
    if (finding.settled == Settled::kForeign) {
      foreign.push_back(finding);
    } else {
      news_.tell(finding, visit->case_id, warning_before(finding, visit->case_id));
    }
  }
  if (drain_lost(visit, findings)) return enter_now(visit, {.open = false});
  if (foreign.empty()) return enter_now(visit, {});
  apply_policy(visit, foreign);
}

void DeviceVisits::apply_policy(VisitIterator visit, const std::vector<DeviceFinding>& foreign) {
  std::string who;
  bool endured = true;
  for (const auto& finding : foreign) {
    const Warning warning = *warning_before(finding, visit->case_id);
    who += (who.empty() ? "" : "; ") + warning.text;
    endured = endured && (finding.endured || finding.holders == pool_.endured(finding.device));
    if (news_.is_new(finding.device, finding.holders)) news_.tell(finding, visit->case_id, warning);
  }
  switch (setup_.device_in_use) {
    case ForeignPolicy::kFail:
      return enter_now(
          visit, {.open = false, .refused = Verdict{Outcome::kError, Reason::kDeviceInUse}, .note = who});
    case ForeignPolicy::kOther:
      for (const auto& finding : foreign) {
        pool_.leave_out(finding.device, fmt::format("{} is in use: {}", finding.device, finding.detail));
      }
      return enter_now(visit, {.open = false});
    case ForeignPolicy::kWait:
      break;
  }
  if (endured) return enter_now(visit, {});
  care_->find_foreign_holders(visit->devices, setup_.memory_wait,
                              [this, visit](const auto& findings) { after_waiting(visit, findings); });
}

void DeviceVisits::after_waiting(VisitIterator visit, const std::vector<DeviceFinding>& findings) {
  for (const auto& finding : findings) {
    news_.tell(finding, visit->case_id, warning_before(finding, visit->case_id));
    if (finding.settled == Settled::kForeign) pool_.endure(finding.device, finding.holders);
  }
  const bool lost = drain_lost(visit, findings);
  enter_now(visit, {.open = !lost});
}

bool DeviceVisits::drain_lost(VisitIterator visit, const std::vector<DeviceFinding>& findings) {
  bool any = false;
  for (const auto& finding : findings) {
    if (finding.settled != Settled::kLost) continue;
    any = true;
    drain(finding.device, std::string(to_string(HealthFact::kLost)), finding.detail, visit->case_id);
  }
  return any;
}

void DeviceVisits::enter_now(VisitIterator visit, const Entry& entry) {
  const auto done = std::move(visit->entry);
  visits_.erase(visit);
  done(entry);
}

void DeviceVisits::suspect_silent(const std::vector<DeviceFinding>& findings) {
  for (const auto& finding : findings) {
    if (finding.is_silent)
      examinations_.suspect(finding.device, "");  // what is unknown is told with its case
  }
}

// ---- after a case ----

void DeviceVisits::leave(const std::vector<std::string>& devices, const std::string& case_id, bool doubt,
                         OnLeft done) {
  if (!care_ || devices.empty()) return done({});
  visits_.push_back({.devices = devices, .case_id = case_id, .left = std::move(done)});
  const auto visit = std::prev(visits_.end());
  care_->settle(devices,
                [this, visit, doubt](const auto& findings) { after_settling(visit, findings, doubt); });
}

void DeviceVisits::after_settling(VisitIterator visit, const std::vector<DeviceFinding>& findings,
                                  bool doubt) {
  std::vector<std::string> doubtful;
  suspect_silent(findings);
  for (const auto& finding : findings) {
    const bool suspect = examinations_.take_suspicion(finding.device);
    const bool missing = finding.settled == Settled::kNotBack;
    if (finding.settled == Settled::kLost && setup_.reset) {
      visit->result.lost = finding.device;
      news_.note(finding.device, HealthFact::kLost, visit->case_id, finding.detail);
      doubtful.push_back(finding.device);
      continue;
    }
    if (missing) visit->not_back.push_back(finding);
    if (!missing) {
      const auto warning = warning_of(finding, visit->case_id);
      const bool foreign = finding.settled == Settled::kForeign;
      if (!foreign || news_.is_new(finding.device, finding.holders))
        news_.tell(finding, visit->case_id, warning);
      if (finding.settled == Settled::kLost) {
        visit->result.any_sick = true;
        visit->result.lost = finding.device;
        drain(finding.device, std::string(to_string(HealthFact::kLost)), warning ? warning->text : "",
              visit->case_id);
        continue;
      }
    }
    if (missing || doubt || suspect) doubtful.push_back(finding.device);
  }
  examinations_.examine(doubtful, visit->case_id,
                        [this, visit](const Answers& answers) { after_doubt(visit, answers); });
}

// To open a device and close it again can free what a dead process left there, so its
// memory is looked at once more.
void DeviceVisits::after_doubt(VisitIterator visit, const Answers& answers) {
  for (const auto& [device, answer] : answers) {
    const bool well = examinations_.judge(device, answer, visit->case_id);
    if (!well || answer.reset) {
      visit->result.sick = device;
      visit->result.words = answer.words;
    }
    if (well) continue;
    visit->result.any_sick = true;
    std::erase_if(visit->not_back, [&](const DeviceFinding& finding) { return finding.device == device; });
  }
  if (visit->not_back.empty()) return leave_now(visit);
  std::vector<std::string> devices;
  for (const auto& finding : visit->not_back) devices.push_back(finding.device);
  care_->check(devices, [this, visit](const auto& findings) { last_word(visit, findings); });
}

void DeviceVisits::last_word(VisitIterator visit, const std::vector<DeviceFinding>& findings) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    DeviceFinding finding = findings[i];
    finding.waited += visit->not_back[i].waited;
    const auto warning = warning_of(finding, visit->case_id);
    news_.tell(finding, visit->case_id, warning);
    if (!is_sick(finding.settled)) continue;
    visit->result.any_sick = true;
    if (finding.settled == Settled::kLost) visit->result.lost = finding.device;
    drain(finding.device, std::string(to_string(fact_of(finding.settled))), warning ? warning->text : "",
          visit->case_id);
  }
  leave_now(visit);
}

void DeviceVisits::leave_now(VisitIterator visit) {
  const auto done = std::move(visit->left);
  const Left result = visit->result;
  visits_.erase(visit);
  done(result);
}

// ---- the kernel log ----

void DeviceVisits::error_logged(const DeviceError& error, const std::string& case_id, bool passed) {
  if (!error.by_machine && !passed) return;  // the diagnosis has it
  const bool is_new = news_.is_new(error.device, error.rule);
  const std::string at = case_id.empty() ? "" : " at " + case_id;
  if (is_new)
    news_.warn({WarningCode::kKernelLog,
                fmt::format("{}{}: {} ({}). {}", error.device, at, error.line, error.rule, error.next)});
  if (!error.by_machine || error.severity == Gravity::kNote) return;
  news_.note(error.device, HealthFact::kKernelLog, case_id, fmt::format("{}: {}", error.rule, error.line));
  // A suspect line in each of a thousand cases costs one probe.
  if (is_new || error.severity != Gravity::kSuspect) examinations_.doubt(error.device);
}

// ---- the end ----

void DeviceVisits::give_up() {
  examinations_.give_up();
  if (care_) care_->forget();
  for (const auto& visit : std::exchange(visits_, {})) {
    if (visit.entry) visit.entry({.open = false});
    if (visit.left) visit.left(visit.result);
  }
}

void DeviceVisits::stop(std::function<void()> gone) {
  examinations_.stop([this, gone = std::move(gone)] {
    if (!care_) return gone();
    care_->stop(gone);
  });
}

}  // namespace proctor
