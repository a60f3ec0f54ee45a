// Says the final word on each case, once: applies the known-failure list to its verdict and sends the event.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/runner/attempt/case_group.h"
#include "harness/runner/schedule/run_setup.h"

namespace proctor {

class CaseEnds {
 public:
  // Called after each one.
  using OnEnd = std::function<void(std::size_t index, const CaseEnded&)>;
  CaseEnds(const RunSetup& setup, EventSink& sink) : setup_(setup), sink_(sink) {}
  void listen(OnEnd on_end) { on_end_ = std::move(on_end); }

  // The case is announced when all of its parts have ended: with the first bad verdict among them.
  void expect(std::size_t index, std::size_t parts) { parts_[index].left = parts; }
  // What is reported of a case before its end.
  void note(const Event& event) { sink_.on(event); }
  void announce(const CaseGroup::Finished& finished);
  void announce(const std::vector<CaseGroup::Finished>& cases);
  std::optional<KnownVerdict> known_failure(std::size_t index, const std::vector<std::string>& devices,
                                            const Verdict& verdict) const;

 private:
  struct Parts {
    std::size_t left = 0;
    std::optional<CaseGroup::Finished> so_far = {};
  };

  std::optional<CaseGroup::Finished> whole(const CaseGroup::Finished& part);
  void tell(const CaseGroup::Finished& finished);

  const RunSetup& setup_;
  EventSink& sink_;
  OnEnd on_end_;
  std::map<std::size_t, Parts> parts_;  // by case
};

}  // namespace proctor
