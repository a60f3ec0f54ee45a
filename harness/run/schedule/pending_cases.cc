#include "harness/run/schedule/pending_cases.h"

#include <iterator>
#include <map>
#include <utility>

#include "harness/run/schedule/admission.h"
#include "harness/run/schedule/planned.h"

namespace proctor {

void PendingCases::admit(const std::function<void(const CaseGroup::Finished&)>& refused,
                         const std::function<void(std::size_t, std::size_t)>& in_parts) {
  const Plan& plan = *setup_.plan;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const Case& test = plan.cases[i];
    if (const auto refusal = refuse(setup_, pool_, plan.suites[test.suite], test)) {
      refused({.index = i, .verdict = refusal->verdict, .marks = {}, .note = refusal->note});
      continue;
    }
    RepeatPolicy policy{
        .retries = test.policy.retries, .repeat = setup_.repeat, .until_fail = setup_.until_fail};
    const auto devices = devices_to_repeat_on(pool_, test, to_string(plan.suites[test.suite].backend),
                                              setup_.planned.each_device);
    if (devices.empty()) group_for(groups_, plan, i).add(i, policy);
    for (const auto& device : devices) {
      group_for(groups_, plan, i, device).add(i, policy);
      policy.first_repeat += policy.repeat;
    }
    if (devices.size() > 1) in_parts(i, devices.size());
  }
}

// What the group avoids it gets all the same, when nothing else is left.
DeviceWish PendingCases::wish_of(const CaseGroup& group, const std::string& backend, int count) const {
  DeviceWish wish{.only = group.pinned_to(), .none_of = group.avoids()};
  if (!pool_.can_ever_lease(backend, count, wish)) wish.none_of.clear();
  return wish;
}

std::optional<PendingCases::Start> PendingCases::take_first_that_fits() {
  holders_.clear();
  std::map<std::string, int> refused;  // backend -> least number of devices that could not be had
  for (auto it = groups_.begin(); it != groups_.end(); ++it) {
    const Case& test = setup_.plan->cases[it->first()];
    std::vector<std::string> devices;
    if (test.devices > 0) {
      const std::string backend(to_string(setup_.plan->suites[test.suite].backend));
      const auto wish = wish_of(*it, backend, test.devices);
      const bool any_will_do = wish.only.empty() && wish.none_of.empty();
      // Asking again for as many costs a look at every lease file, and gets the same answer.
      if (const auto least = refused.find(backend); least != refused.end() && test.devices >= least->second)
        continue;
      auto leased = pool_.lease(backend, test.devices, test.id, wish);
      if (!leased) {
        if (any_will_do) refused[backend] = test.devices;
        for (const auto& holder : pool_.held_elsewhere()) holders_.insert(holder);
        continue;
      }
      devices = std::move(*leased);
    }
    Start start{std::move(*it), std::move(devices)};
    groups_.erase(it);
    return start;
  }
  return std::nullopt;
}

std::vector<CaseGroup::Finished> PendingCases::drop(const Verdict& verdict, const std::string& note) {
  std::vector<CaseGroup::Finished> dropped;
  for (auto& group : std::exchange(groups_, {})) {
    auto finished = group.give_up(verdict, note);
    std::move(finished.begin(), finished.end(), std::back_inserter(dropped));
  }
  return dropped;
}

}  // namespace proctor
