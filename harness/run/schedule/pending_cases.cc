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
  const Refusal unlisted{{Outcome::kError, Reason::kDiscovery}, test.unlisted};
  if (is_unlisted(test) && !test.wants_device) return unlisted;
  if (test.disabled) return Refusal{{Outcome::kSkip, Reason::kDisabled}, "disabled in its own source"};
  if (const auto why = setup.devices->unusable.find(backend); why != setup.devices->unusable.end())
    return Refusal{{Outcome::kSkip, reason_in_words(why->second)}, ""};
  const auto ours = setup.devices->unusable_by_ours.find(backend);
  if (suite.kind->ours() && ours != setup.devices->unusable_by_ours.end())
    return Refusal{{Outcome::kSkip, reason_in_words(ours->second)}, ""};
  if (const auto need = unmet_need(setup, backend, test))
    return Refusal{{Outcome::kSkip, {Reason::kNeeds, *need}}, ""};
  if (test.devices == 0 || pool.can_ever_lease(backend, test.devices)) {
    if (is_unlisted(test)) return unlisted;  // it has come since
    return std::nullopt;
  }
  if (pool.width(backend) == 0) return Refusal{{Outcome::kSkip, Reason::kNoDevice}, ""};
  const char* what = test.ranks > 0 ? "cards" : "devices";  // no two ranks on one card
  return Refusal{{Outcome::kSkip, {Reason::kNeeds, fmt::format("{}>={}", what, test.devices)}}, ""};
}

}  // namespace

CaseGroup& PendingCases::group_for(std::size_t index, SharedGroups& shared, const std::string& device) {
  const Case& test = setup_.plan->cases[index];
  const auto add_group = [&] {
    groups_.emplace_back().pin_to(device);
    ++waiting_[demand_of(index)];
    return groups_.size() - 1;
  };
  if (test.group.empty()) return groups_[add_group()];
  const auto [found, is_new] = shared.try_emplace({test.suite, test.group, test.devices, device});
  if (is_new) found->second = add_group();
  return groups_[found->second];
}

void PendingCases::admit(const std::function<void(const CaseGroup::Finished&)>& refused,
                         const std::function<void(std::size_t, std::size_t)>& in_parts) {
  const Plan& plan = *setup_.plan;
  SharedGroups shared;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const Case& test = plan.cases[i];
    if (const auto refusal = refuse(setup_, pool_, plan.suites[test.suite], test)) {
      refused({.index = i, .verdict = refusal->verdict, .marks = {}, .note = refusal->note});
      continue;
    }
    RepeatPolicy policy{.retries = test.policy.retries,
                        .repeat = setup_.repeats.repeat,
                        .until_fail = setup_.repeats.until_fail};
    const auto devices = devices_to_repeat_on(pool_, test, to_string(plan.suites[test.suite].backend),
                                              setup_.planned.each_device);
    const auto pin = setup_.repeats.pins.find(test.id);
    if (devices.empty())
      group_for(i, shared, pin != setup_.repeats.pins.end() ? pin->second : "").add(i, policy);
    for (const auto& device : devices) {
      group_for(i, shared, device).add(i, policy);
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

PendingCases::Demand PendingCases::demand_of(std::size_t index) const {
  const Case& test = setup_.plan->cases[index];
  if (test.devices == 0) return {};
  return {std::string(to_string(setup_.plan->suites[test.suite].backend)), test.devices};
}

std::size_t PendingCases::hopeless(const std::map<std::string, int>& refused) const {
  std::size_t groups = 0;
  for (const auto& [demand, count] : waiting_) {
    const auto least = refused.find(demand.first);
    if (least != refused.end() && demand.second >= least->second) groups += count;
  }
  return groups;
}

std::optional<PendingCases::Start> PendingCases::take_first_that_fits() {
  holders_.clear();
  std::map<std::string, int> refused;  // backend -> least number of devices that could not be had
  for (auto it = groups_.begin(); it != groups_.end(); ++it) {
    ++looked_at_;
    const Case& test = setup_.plan->cases[it->first()];
    std::vector<std::string> devices;
    if (test.devices > 0) {
      const std::string backend = demand_of(it->first()).first;
      const auto wish = wish_of(*it, backend, test.devices);
      const bool any_will_do = wish.only.empty() && wish.none_of.empty();
      // Asking again for as many costs a look at every lease file, and gets the same answer.
      if (const auto least = refused.find(backend); least != refused.end() && test.devices >= least->second)
        continue;
      auto leased = pool_.lease(backend, test.devices, test.id, wish);
      if (!leased) {
        if (any_will_do) refused[backend] = test.devices;
        for (const auto& holder : pool_.held_elsewhere()) holders_.insert(holder);
        if (any_will_do && hopeless(refused) == groups_.size()) return std::nullopt;
        continue;
      }
      devices = std::move(*leased);
    }
    --waiting_[demand_of(it->first())];
    Start start{std::move(*it), std::move(devices)};
    groups_.erase(it);
    return start;
  }
  return std::nullopt;
}

void PendingCases::put_back(CaseGroup group) {
  ++waiting_[demand_of(group.first())];
  groups_.push_front(std::move(group));
}

std::vector<CaseGroup::Finished> PendingCases::drop(const Verdict& verdict, const std::string& note) {
  std::vector<CaseGroup::Finished> dropped;
  waiting_.clear();
  for (auto& group : std::exchange(groups_, {})) {
    auto finished = group.give_up(verdict, note);
    std::move(finished.begin(), finished.end(), std::back_inserter(dropped));
  }
  return dropped;
}

}  // namespace proctor
