#include "harness/devices/care/examinations.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

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
    tell(device, HealthFact::kUnknown, case_id, why, WarningCode::kDeviceUnknown, ": " + why);
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
      news_.note(device, HealthFact::kL1Pass, case_id, words);
      pool_.found_well(device);
      return true;
    case HealthStatus::kUnknown:
      if (!words.empty() && news_.is_new(device, words))
        tell(device, HealthFact::kUnknown, case_id, words, WarningCode::kDeviceUnknown, ": " + words);
      return true;
    case HealthStatus::kFail:
      if (answer.lost) {  // others may still use it
        tell(device, HealthFact::kLost, case_id, words, WarningCode::kDeviceLost,
             ": " + words + "; the run stops using it");
        pool_.retire({device});
        return false;
      }
      tell(device, HealthFact::kL1Fail, case_id, words, WarningCode::kDeviceHealthFailed,
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

}  // namespace proctor
