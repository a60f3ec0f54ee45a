#include "harness/run/schedule/pending_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "harness/plan/kinds/kind.h"
#include "harness/run/schedule/planned.h"

namespace proctor {
namespace {

struct Refusal {
  Verdict verdict;
  std::string note;
};

std::optional<std::string> unmet_need(const RunSetup& setup, const std::string& backend, const Case& test) {
  const auto lacking = setup.devices->lacking.find(backend);
  if (lacking == setup.devices->lacking.end()) return std::nullopt;
  for (const auto& need : test.needs) {
    if (lacking->second.contains(need)) return need;
  }
  return std::nullopt;
}

// None: the case can run as soon as its devices are free.
std::optional<Refusal> refuse(const RunSetup& setup, const DevicePool& pool, const Suite& suite,
                              const Case& test) {
  const std::string backend(to_string(suite.backend));
  const Refusal unlisted{{Outcome::kError, "discovery"}, test.unlisted};
  if (is_unlisted(test) && !test.wants_device) return unlisted;
  if (test.disabled) return Refusal{{Outcome::kSkip, "disabled"}, "disabled in its own source"};
  if (const auto why = setup.devices->unusable.find(backend); why != setup.devices->unusable.end())
    return Refusal{{Outcome::kSkip, why->second}, ""};
  const auto ours = setup.devices->unusable_by_ours.find(backend);
  if (suite.kind->ours() && ours != setup.devices->unusable_by_ours.end())
    return Refusal{{Outcome::kSkip, ours->second}, ""};
  if (const auto need = unmet_need(setup, backend, test))
    return Refusal{{Outcome::kSkip, "needs:" + *need}, ""};
  if (test.devices == 0 || pool.can_ever_lease(backend, test.devices)) {
    if (is_unlisted(test)) return unlisted;  // it has come since
    return std::nullopt;
  }
  if (pool.width(backend) == 0) return Refusal{{Outcome::kSkip, "no_device"}, ""};
  const char* what = test.ranks > 0 ? "cards" : "devices";  // no two ranks on one card
  return Refusal{{Outcome::kSkip, fmt::format("needs:{}>={}", what, test.devices)}, ""};
}

// The pending group that a case joins, a new one where no process may be shared. `device`: the only one that
// will do, or "".
CaseGroup& group_for(std::deque<CaseGroup>& pending, const Plan& plan, std::size_t index,
                     const std::string& device = "") {
  const Case& wanted = plan.cases[index];
  const auto group = std::find_if(pending.begin(), pending.end(), [&](const CaseGroup& candidate) {
    const Case& first = plan.cases[candidate.first()];
    return !wanted.group.empty() && first.suite == wanted.suite && first.group == wanted.group &&
           first.devices == wanted.devices && candidate.pinned_to() == device;
  });
  if (group != pending.end()) return *group;
  pending.emplace_back().pin_to(device);
  return pending.back();
}

}  // namespace

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
