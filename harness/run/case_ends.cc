#include "harness/run/case_ends.h"

#include <utility>

namespace proctor {

CaseEnds::CaseEnds(const RunSetup& setup, EventSink& sink, std::function<void(const CaseEnded&)> on_end)
    : setup_(setup), sink_(sink), on_end_(std::move(on_end)) {}

std::optional<KnownVerdict> CaseEnds::known_failure(std::size_t index, const Verdict& verdict) const {
  if (!setup_.known_failure) return std::nullopt;
  const Case& test = setup_.plan->cases[index];
  return setup_.known_failure(setup_.plan->suites[test.suite], test, verdict);
}

void CaseEnds::announce(const CaseGroup::Finished& finished) {
  CaseEnded ended{.case_id = setup_.plan->cases[finished.index].id,
                  .verdict = finished.verdict,
                  .marks = finished.marks,
                  .known_failure = {},
                  .note = finished.note};
  if (auto known = known_failure(finished.index, ended.verdict)) {
    ended.verdict = std::move(known->verdict);
    ended.known_failure = std::move(known->source);
    if (!known->note.empty()) ended.note = std::move(known->note);
  }
  sink_.on(ended);
  on_end_(ended);
}

void CaseEnds::announce(const std::vector<CaseGroup::Finished>& cases) {
  for (const auto& finished : cases) announce(finished);
}

}  // namespace proctor
