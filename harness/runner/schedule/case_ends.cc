#include "harness/runner/schedule/case_ends.h"

#include <algorithm>
#include <utility>

namespace proctor {

std::optional<KnownVerdict> CaseEnds::known_failure(std::size_t index,
                                                    const std::vector<std::string>& devices,
                                                    const Verdict& verdict) const {
  return setup_.rules->known_failure(setup_.suite(index), setup_.test(index), devices, verdict);
}

void CaseEnds::announce(const CaseGroup::Finished& finished) {
  if (const auto all = whole(finished)) tell(*all);
}

// What a part that ran says counts for more than that the device of another one was taken out. A part that was cut short
// for any other reason leaves the case without a result.
std::optional<CaseGroup::Finished> CaseEnds::whole(const CaseGroup::Finished& part) {
  const auto entry = parts_.find(part.index);
  if (entry == parts_.end()) return part;
  auto& [left, so_far] = entry->second;
  const auto weight = [](const Verdict& verdict) {
    if (is_device_gone(verdict)) return 0;
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

void CaseEnds::tell(const CaseGroup::Finished& finished) {
  CaseEnded ended{.case_id = setup_.test(finished.index).id,
                  .verdict = finished.verdict,
                  .marks = finished.marks,
                  .known_failure = {},
                  .note = finished.note};
  if (auto known = known_failure(finished.index, finished.devices, ended.verdict)) {
    ended.verdict = std::move(known->verdict);
    ended.known_failure = std::move(known->source);
    ended.known_failure_at = std::move(known->at);
    if (!known->warning.empty()) sink_.on(Warning{WarningCode::kCaseWarning, known->warning});
  }
  sink_.on(ended);
  on_end_(finished.index, ended);
}

void CaseEnds::announce(const std::vector<CaseGroup::Finished>& cases) {
  for (const auto& finished : cases) announce(finished);
}

}  // namespace proctor
