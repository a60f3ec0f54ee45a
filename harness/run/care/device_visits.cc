#include "harness/run/care/device_visits.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/outcome_meaning.h"
#include "harness/devices/telemetry/device_monitor.h"

namespace proctor {
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
                           const RunPolicy& policy, DevicePool& pool, EventSink& sink,
                           Clock::time_point run_started)
    : setup_(setup),
      policy_(policy),
      pool_(pool),
      sink_(sink),
      run_started_(run_started),
      checks_(io, containment) {
  if (!setup.monitor) return;
  care_ = std::make_unique<DeviceCare>(io, std::make_unique<DeviceMonitor>(io, containment, *setup.monitor),
                                       setup.settle);
}

void DeviceVisits::begin(std::function<void()> ready) {
  if (!care_) return ready();
  care_->begin([this, ready = std::move(ready)](const std::string& problem) {
    if (!problem.empty()) sink_.on(Warning{WarningCode::kDeviceUnknown, "failed to " + problem});
    for (const auto& [device, bytes] : care_->baseline())
      note(device, HealthFact::kBaseline, "", "", {}, bytes);
    ready();
  });
}

// ---- examination ----

void DeviceVisits::examine(VisitIterator visit, const std::vector<std::string>& devices,
                           std::function<void(const Answers&)> done) {
  auto answers = std::make_shared<Answers>();
  auto left = std::make_shared<std::size_t>(devices.size());
  if (devices.empty()) return done(*answers);
  for (const auto& device : devices) {
    auto add = alive_.guard([answers, left, device, done](const HealthAnswer& answer) {
      (*answers)[device] = answer;
      if (--*left == 0) done(*answers);
    });
    if (auto how = request(device, visit->case_id)) {
      checks_.examine(*std::move(how), add);
    } else {
      add(HealthAnswer());
    }
  }
}

std::optional<HealthRequest> DeviceVisits::request(const std::string& device, const std::string& case_id) {
  auto how = setup_.health ? setup_.health(device) : std::nullopt;
  if (how) {
    how->leases = pool_.descriptors({device});
  } else if (is_new(device, "no_probe")) {
    const std::string why = "nothing here can examine it; it is used without, and not known to be well";
    note(device, HealthFact::kUnknown, case_id, why);
    sink_.on(Warning{WarningCode::kDeviceUnknown, fmt::format("{} at {}: {}", device, case_id, why)});
  }
  return how;
}

bool DeviceVisits::judge(VisitIterator visit, const std::string& device, const HealthAnswer& answer) {
  if (answer.reset) {
    care_->monitor().renew();
    note(device, HealthFact::kReset, visit->case_id, answer.words);
    sink_.on(Warning{WarningCode::kDeviceReset, fmt::format("{} at {} was sick and has been reset: {}",
                                                            device, visit->case_id, answer.words)});
  }
  switch (answer.status) {
    case HealthStatus::kPass:
      note(device, HealthFact::kL1Pass, visit->case_id, answer.words);
      pool_.found_well(device);
      return true;
    case HealthStatus::kUnknown:
      if (!answer.words.empty() && is_new(device, answer.words)) {
        note(device, HealthFact::kUnknown, visit->case_id, answer.words);
        sink_.on(Warning{WarningCode::kDeviceUnknown,
                         fmt::format("{} at {}: {}", device, visit->case_id, answer.words)});
      }
      return true;
    case HealthStatus::kFail:
      note(device, HealthFact::kL1Fail, visit->case_id, answer.words);
      sink_.on(Warning{WarningCode::kDeviceHealthFailed,
                       fmt::format("{} at {}: {}; the device is taken out of the run", device, visit->case_id,
                                   answer.words)});
      drain(device, "health_failed", answer.words, visit->case_id);
      return false;
  }
  return true;
}

void DeviceVisits::drain(const std::string& device, const std::string& reason, const std::string& evidence,
                         const std::string& case_id) {
  pool_.drain(device, reason, evidence);
  note(device, HealthFact::kDrained, case_id, reason + ": " + evidence);
}

void DeviceVisits::suspect(const std::vector<std::string>& devices, const std::string& why) {
  for (const auto& device : devices) {
    if (!is_new(device, "silent")) continue;
    suspects_.insert(device);
    if (!why.empty()) note(device, HealthFact::kUnknown, "", why);
  }
}

void DeviceVisits::suspect_silent(const std::vector<DeviceFinding>& findings) {
  for (const auto& finding : findings) {
    if (finding.is_silent) suspect({finding.device}, "");  // what is unknown is told with its case
  }
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
    const bool suspect = suspects_.erase(device) > 0;
    if (doubt || unproven || suspect || pool_.left_dirty(device)) doubtful.push_back(device);
  }
  examine(visit, doubtful, [this, visit](const Answers& answers) { after_dirty(visit, answers); });
}

void DeviceVisits::after_dirty(VisitIterator visit, const Answers& answers) {
  bool well = true;
  for (const auto& [device, answer] : answers) well = judge(visit, device, answer) && well;
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
      tell(finding, visit->case_id, warning_before(finding, visit->case_id));
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
    if (is_new(finding.device, finding.holders)) tell(finding, visit->case_id, warning);
  }
  switch (policy_.foreign.value_or(ForeignPolicy::kWait)) {
    case ForeignPolicy::kFail:
      return enter_now(
          visit, {.open = false, .refused = Verdict{Outcome::kError, Reason::kForeignHolder}, .note = who});
    case ForeignPolicy::kOther:
      for (const auto& finding : foreign) {
        pool_.leave_out(finding.device, fmt::format("{} is in use: {}", finding.device, finding.detail));
      }
      return enter_now(visit, {.open = false});
    case ForeignPolicy::kWait:
      break;
  }
  if (endured) return enter_now(visit, {});
  care_->find_foreign_holders(visit->devices, setup_.settle,
                              [this, visit](const auto& findings) { after_waiting(visit, findings); });
}

void DeviceVisits::after_waiting(VisitIterator visit, const std::vector<DeviceFinding>& findings) {
  for (const auto& finding : findings) {
    tell(finding, visit->case_id, warning_before(finding, visit->case_id));
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
    const bool suspect = suspects_.erase(finding.device) > 0;
    const bool missing = finding.settled == Settled::kNotBack;
    if (finding.settled == Settled::kLost && policy_.reset_sick.value_or(false)) {
      visit->result.lost = finding.device;
      note(finding.device, HealthFact::kLost, visit->case_id, finding.detail);
      doubtful.push_back(finding.device);
      continue;
    }
    if (missing) visit->not_back.push_back(finding);
    if (!missing) {
      const auto warning = warning_of(finding, visit->case_id);
      const bool foreign = finding.settled == Settled::kForeign;
      if (!foreign || is_new(finding.device, finding.holders)) tell(finding, visit->case_id, warning);
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
  examine(visit, doubtful, [this, visit](const Answers& answers) { after_doubt(visit, answers); });
}

// To open a device and close it again can free what a dead process left there, so its
// memory is looked at once more.
void DeviceVisits::after_doubt(VisitIterator visit, const Answers& answers) {
  for (const auto& [device, answer] : answers) {
    const bool well = judge(visit, device, answer);
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
    tell(finding, visit->case_id, warning);
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

// ---- the end ----

void DeviceVisits::give_up() {
  alive_.renew();
  checks_.give_up();
  if (care_) care_->forget();
  for (const auto& visit : std::exchange(visits_, {})) {
    if (visit.entry) visit.entry({.open = false});
    if (visit.left) visit.left(visit.result);
  }
}

void DeviceVisits::stop(std::function<void()> gone) {
  alive_.end();
  checks_.stop([this, gone = std::move(gone)] {
    if (!care_) return gone();
    care_->stop(gone);
  });
}

// ---- what is told ----

void DeviceVisits::tell(const DeviceFinding& finding, const std::string& case_id,
                        const std::optional<Warning>& warning) {
  if (!warning) return;
  note(finding.device, fact_of(finding.settled), case_id, warning->text, finding.waited, finding.left_bytes);
  sink_.on(*warning);
}

void DeviceVisits::note(const std::string& device, HealthFact what, const std::string& case_id,
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

}  // namespace proctor
