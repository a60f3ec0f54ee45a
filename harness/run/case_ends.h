// The final word on each case, said once: what the known-failure list makes of its verdict, and the event.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/events.h"
#include "harness/run/case_group.h"
#include "harness/run/runner.h"

namespace proctor {

class CaseEnds {
 public:
  // `on_end` is called after each one.
  CaseEnds(const RunSetup& setup, EventSink& sink, std::function<void(const CaseEnded&)> on_end);

  void announce(const CaseGroup::Finished& finished);
  void announce(const std::vector<CaseGroup::Finished>& cases);
  std::optional<KnownVerdict> known_failure(std::size_t index, const Verdict& verdict) const;

 private:
  const RunSetup& setup_;
  EventSink& sink_;
  std::function<void(const CaseEnded&)> on_end_;
};

}  // namespace proctor
