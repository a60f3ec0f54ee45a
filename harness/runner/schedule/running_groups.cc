#include "harness/runner/schedule/running_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace proctor {

void RunningGroups::start(PendingCases::Start start, OnEnded ended) {
  groups_.emplace_back(setup_, stage_, processes_, pending_, ends_,
                       GroupDevices(pool_, visits_, std::move(start.devices)), std::move(start.group),
                       start.is_lone);
  const auto group = std::prev(groups_.end());
  const auto end = [this, group, ended = std::move(ended)] {
    const bool begun = group->begun();
    groups_.erase(group);
    ended(begun);
  };
  group->begin({.ended = end, .stopped = on_stopped_});
}

bool RunningGroups::may_begin_more() const {
  return std::ranges::any_of(groups_, [](const RunningGroup& group) { return group.may_begin_more(); });
}

void RunningGroups::begin_no_more() {
  for (auto& group : groups_) {
    if (auto* attempt = group.attempt()) attempt->begin_no_more();
  }
}

void RunningGroups::freeze() {
  for (auto& group : groups_) {
    if (auto* attempt = group.attempt()) attempt->freeze();
  }
}

void RunningGroups::thaw() {
  for (auto& group : groups_) {
    if (auto* attempt = group.attempt()) attempt->thaw();
  }
}

void RunningGroups::lose(const std::string& device) {
  for (auto& group : groups_) group.lose(device);
}

void RunningGroups::stop(int signal, Milliseconds grace) {
  visits_.give_up();  // ends the groups without an attempt
  for (auto& group : groups_) group.attempt()->stop(signal, grace, stage_.why_stopped());
}

void RunningGroups::abandon() {
  for (auto& group : groups_) group.attempt()->abandon();
  for (auto& group : groups_) group.settle({});
  for (auto& group : groups_)
    group.give_up(
        {{Outcome::kNotrun, stage_.why_stopped()}, "its processes did not exit in time and may still run"});
  groups_.clear();
}

}  // namespace proctor
