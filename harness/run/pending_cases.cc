#include "harness/run/pending_cases.h"

#include <iterator>
#include <map>
#include <utility>

#include "harness/run/admission.h"

namespace proctor {

void PendingCases::admit(const std::function<void(const CaseGroup::Finished&)>& refused) {
  const Plan& plan = *setup_.plan;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const Case& test = plan.cases[i];
    if (const auto refusal = refuse(setup_, pool_, plan.suites[test.suite], test)) {
      refused({.index = i, .verdict = refusal->verdict, .marks = {}, .note = refusal->note});
      continue;
    }
    group_for(groups_, plan, i)
        .add(i, {.retries = test.policy.retries, .repeat = setup_.repeat, .until_fail = setup_.until_fail});
  }
}

std::optional<PendingCases::Start> PendingCases::take_first_that_fits() {
  holders_.clear();
  std::map<std::string, int> refused;  // backend -> least number of devices that could not be had
  for (auto it = groups_.begin(); it != groups_.end(); ++it) {
    const Case& test = setup_.plan->cases[it->first()];
    std::vector<std::string> devices;
    if (test.devices > 0) {
      const std::string backend(to_string(setup_.plan->suites[test.suite].backend));
      // Asking again for as many costs a look at every lease file, and gets the same answer.
      if (const auto least = refused.find(backend); least != refused.end() && test.devices >= least->second)
        continue;
      auto leased = pool_.lease(backend, test.devices, test.id);
      if (!leased) {
        refused[backend] = test.devices;
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
