#include "harness/runner/schedule/case_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/journal/outcome_meaning.h"

namespace proctor {

std::optional<KnownVerdict> CaseEnds::known_failure(std::size_t index,
                                                    const std::vector<std::string>& devices,
                                                    const Verdict& verdict) const {
  return setup_.rules->known_failure(setup_.suite(index), setup_.test(index), devices, verdict);
}

void CaseEnds::announce(const CaseGroup::Finished& finished) {
  if (const auto all = whole(finished)) report_value(*all);
}

// Adds the result of one part. Returns the result of the case when its last part has ended. The first bad part
// determines the result. Otherwise a part that was cut short leaves the case without a result, and a part whose device
// was taken out of the run counts least.
std::optional<CaseGroup::Finished> CaseEnds::whole(const CaseGroup::Finished& part) {
  const auto entry = parts_.find(part.index);
  if (entry == parts_.end()) return part;
  auto& [left, so_far] = entry->second;
  const auto weight = [](const Verdict& verdict) {
    if (is_device_lost(verdict)) return 0;
    if (verdict.outcome == Outcome::kNotrun) return 2;
    return is_bad(verdict.outcome) ? 3 : 1;
  };
  if (!so_far) {
    so_far = part;
  } else {
    for (const MarkWord& mark : part.marks) add_mark(so_far->marks, mark);
    if (weight(part.verdict) > weight(so_far->verdict)) {
      so_far->verdict = part.verdict;
      so_far->note = part.note;
      so_far->devices = part.devices;
    }
  }
  return --left == 0 ? so_far : std::nullopt;
}

void CaseEnds::report_value(const CaseGroup::Finished& finished) {
  CaseEnded ended{.case_id = setup_.test(finished.index).id,
                  .verdict = finished.verdict,
                  .marks = finished.marks,
                  .known_failure = {},
                  .note = finished.note};
  if (auto known = known_failure(finished.index, finished.devices, ended.verdict)) {
    ended.verdict = std::move(known->verdict);
    ended.known_failure = std::move(known->source);
    ended.known_failure_location = std::move(known->at);
    if (!known->warning.empty()) sink_.on(Warning{WarningCode::kCaseWarning, known->warning});
  }
  sink_.on(ended);
  on_end_(finished.index, ended);
}

void CaseEnds::announce(const std::vector<CaseGroup::Finished>& cases) {
  for (const auto& finished : cases) announce(finished);
}

namespace {

// Returns whether an unhealthy device could explain the verdict.
bool is_suspicious(const Verdict& verdict) {
  return is_bad(verdict.outcome) && verdict.outcome != Outcome::kNotrun;
}

}  // namespace

void GroupVerdicts::attempt_ended(std::size_t which, const AttemptEnded& ended, bool expected, bool went_on,
                                  bool provisional) {
  if (group_.is_silent(which)) return;
  if (!went_on) last_ = which;
  const Unsettled unsettled{.which = which,
                            .verdict = ended.verdict,
                            .marks = ended.marks,
                            .expected = expected,
                            .attempt = ended.attempt,
                            .repeat = ended.repeat,
                            .is_caused_by_device = poisons_process(ended),
                            .last = ended.termination.unkillable};
  const bool samples =
      is_suspicious(ended.verdict) && !devices_.empty() && !stage_.is_stopping() && !devices_.are_lost();
  if (samples || provisional) {
    unsettled_.push_back(unsettled);
  } else {
    take(unsettled);
  }
}

// Counts the verdict of an attempt for its case.
void GroupVerdicts::take(const Unsettled& ended, const std::string& note) {
  // In a shared process, another case may have lost the device.
  const bool last = ended.last || stage_.is_stopping() || (devices_.are_lost() && !group_.is_shared());
  auto finished =
      group_.attempt_ended(ended.which, ended.verdict, ended.marks, ended.expected, last, devices_.ids());
  if (!finished) return;
  if (!note.empty()) finished->note = note;
  report_suspect(*finished);
  if (last_ == ended.which) {
    held_ = std::move(finished);
  } else {
    ends_.announce(*finished);
  }
}

std::optional<std::size_t> GroupVerdicts::loser(const DeviceAdmission::Left& left) const {
  if (left.lost.empty() || !left.unhealthy.empty() || !devices_.are_lost()) return std::nullopt;
  if (!group_.is_shared()) return last_;
  for (const Unsettled& ended : unsettled_) {
    if (ended.verdict.outcome == Outcome::kDeviceLost || ended.is_caused_by_device) return ended.which;
  }
  const auto last = std::ranges::find(unsettled_, last_, &Unsettled::which);
  const bool died =
      last != unsettled_.end() && is_suspicious(last->verdict) && meaning_of(last->verdict).midway;
  return died ? last_ : std::nullopt;
}

void GroupVerdicts::settle(const DeviceAdmission::Left& left, const Unproven& unproven) {
  const std::optional<std::size_t> loser = this->loser(left);
  for (Unsettled& ended : std::exchange(unsettled_, {})) {
    std::string note;
    if (unproven.cases.contains(ended.which)) {
      using enum CaseGroup::Invalid;
      group_.invalidate(ended.which, unproven.may_share ? kNoResult : kUnreliable);
      if (last_ == ended.which) last_.reset();
      continue;
    }
    if (loser == ended.which) {
      ended.verdict = {Outcome::kDeviceLost, {Reason::kDevice, left.lost}};
      ended.last = true;
      note = "its device is lost, so its result is not a verdict on the code";
    } else if (is_suspicious(ended.verdict) && !(left.unhealthy.empty() && left.lost.empty()) &&
               is_invalid(ended, left, note)) {
      continue;
    }
    take(ended, note);
  }
}

bool GroupVerdicts::is_invalid(const Unsettled& ended, const DeviceAdmission::Left& left, std::string& note) {
  const std::string& device = left.unhealthy.empty() ? left.lost : left.unhealthy;
  ends_.note(AttemptSuspected{.case_id = setup_.test(group_.case_of(ended.which)).id,
                              .attempt = ended.attempt,
                              .repeat = ended.repeat,
                              .device = device,
                              .evidence = left.unhealthy.empty() ? "lost" : left.words});
  if (setup_.starts_once) return false;  // `exec` starts its command once
  if (!group_.has_suspect(ended.which)) {
    group_.invalidate(ended.which, CaseGroup::Invalid::kDeviceUnhealthy);
    group_.avoid(devices_.ids());
    return true;
  }
  note = "it left " + device + " unhealthy, which was healthy before it; it is not retried on a third device";
  return false;
}

void GroupVerdicts::report_suspect(const CaseGroup::Finished& finished) const {
  if (!has_mark(finished.marks, Mark::kDeviceSuspect) || is_bad(finished.verdict.outcome)) return;
  ends_.note(Warning{WarningCode::kDeviceSuspect,
                     fmt::format("{} failed on {} and passed on {}", setup_.test(finished.index).id,
                                 fmt::join(group_.avoids(), "+"), fmt::join(devices_.ids(), "+"))});
}

void GroupVerdicts::process_ended() {
  // If the run is stopped, this case is not retried.
  if (stage_.is_stopping() && last_ && !held_) held_ = group_.end_now(*last_);
  last_.reset();
  if (auto held = std::exchange(held_, std::nullopt)) ends_.announce(*held);
}

}  // namespace proctor
