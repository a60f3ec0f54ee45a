#include "harness/runner/schedule/pending_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "harness/frameworks/kind.h"
#include "harness/plan/batch.h"
#include "harness/plan/written_off.h"
#include "harness/runner/schedule/describe_plan.h"
#include "harness/runner/schedule/verification.h"

namespace proctor {
namespace {

// Limits of a process that runs the cases of a file (`process = "file"`).
constexpr double kLongestFileMs = 10.0 * 60 * 1000;
constexpr std::size_t kMostOfFile = 500;

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

// Returns the verdict of a case that can never run here, or nothing if it can.
std::optional<Refusal> refuse(const RunSetup& setup, const DevicePool& pool, const Suite& suite,
                              const Case& test) {
  const std::string backend(to_string(suite.backend));
  const Refusal unlisted{{Outcome::kError, Reason::kDiscovery}, test.unlisted};
  if (is_unlisted(test) && !test.wants_device) return unlisted;
  if (test.config_skip) return Refusal{{Outcome::kSkip, {Reason::kConfig, test.config_skip->text()}}, ""};
  if (test.disabled) return Refusal{{Outcome::kSkip, Reason::kDisabled}, "disabled in its own source"};
  if (const auto why = setup.devices->unusable.find(backend); why != setup.devices->unusable.end())
    return Refusal{{Outcome::kSkip, reason_in_words(why->second)}, ""};
  const auto ours = setup.devices->unusable_by_ours.find(backend);
  if (suite.kind->ours() && ours != setup.devices->unusable_by_ours.end())
    return Refusal{{Outcome::kSkip, reason_in_words(ours->second)}, ""};
  if (const auto need = unmet_need(setup, backend, test))
    return Refusal{{Outcome::kSkip, {Reason::kNeeds, *need}}, ""};
  if (test.devices == 0 || pool.can_ever_lease(backend, test.devices)) {
    if (is_unlisted(test)) return unlisted;  // the device has appeared since discovery
    return std::nullopt;
  }
  if (pool.width(backend) == 0) return Refusal{{Outcome::kSkip, Reason::kNoDevice}, ""};
  if (test.ranks > 0 && setup.devices->nodes > 1) {
    return Refusal{
        {Outcome::kSkip, {Reason::kNeeds, "one_node"}},
        fmt::format("its {} ranks need {} devices of one node, and this node has {}: the {} nodes of the "
                    "Slurm job are not used together",
                    test.ranks, test.devices, pool.width(backend).value_or(0), setup.devices->nodes)};
  }
  const char* what = test.ranks > 0 ? "cards" : "devices";  // two ranks never share a card
  return Refusal{{Outcome::kSkip, {Reason::kNeeds, fmt::format("{}>={}", what, test.devices)}}, ""};
}

// Returns how a case repeats. --repeat with exclusion allows no retry, because a retry would hide the failure. Each set
// of devices has a separate range of repeat numbers.
RepeatPolicy policy_of(const RunSetup& setup, const Case& test, std::size_t sets) {
  const int most = kUnlimitedRepeats / static_cast<int>(std::max<std::size_t>(sets, 1));
  return {.retries = setup.repeats.excludes_rate ? 0 : test.policy.retries,
          .repeat = std::min(setup.repeats.of(test.id), most),
          .until_fail = setup.repeats.until_fail,
          .confirm = setup.stop.fail_fast == 0,
          .in_turns = setup.repeats.turns.has_value()};
}

}  // namespace

// The groups during admission, in the planned order.
struct PendingCases::Admission {
  ExpectedDurations expected;
  // The newest group for cases that may share a process. The key consists of the suite, the group name, the number of
  // devices, the allowed devices and the concurrency group.
  std::map<std::tuple<std::size_t, std::string, int, std::set<std::string>, std::string>, std::size_t>
      shared{};
  std::vector<CaseGroup> groups{};
  std::vector<Demand> demands{};
  std::vector<StartKey> keys{};
};

// Results of the candidates that were examined before in the same call.
struct PendingCases::Found {
  std::map<std::string, int> refused{};  // backend -> least number of devices that were not available
  std::set<std::string> reserved{};      // devices for which an overdue group waits
};

// ---- Admission ----

PendingCases::Demand PendingCases::demand_of(std::size_t index, const std::set<std::string>& only) const {
  const Case& test = setup_.plan->cases[index];
  if (test.devices == 0) return {.concurrency_group = test.policy.concurrency_group};
  std::string backend(to_string(setup_.plan->suites[test.suite].backend));
  const Takes takes = pool_.width(backend) ? Takes::kDevices : Takes::kCore;
  return {.backend = std::move(backend),
          .devices = test.devices,
          .only = only,
          .takes = takes,
          .concurrency_group = test.policy.concurrency_group};
}

// Returns whether the group of a file is complete. If it is, a new group begins with this case.
bool PendingCases::is_full(const Suite& suite, const Admission& admission, std::size_t place,
                           std::size_t index) {
  if (suite.process != "file") return false;
  return admission.groups[place].size() >= kMostOfFile ||
         admission.keys[place].duration_ms + admission.expected.of(index) > kLongestFileMs;
}

CaseGroup& PendingCases::group_for(std::size_t index, const std::set<std::string>& only,
                                   Admission& admission) const {
  const Case& test = setup_.plan->cases[index];
  std::size_t place = admission.groups.size();
  if (!test.group.empty()) {
    const auto key =
        std::make_tuple(test.suite, test.group, test.devices, only, test.policy.concurrency_group);
    std::size_t& last = admission.shared.try_emplace(key, place).first->second;
    if (last < place && is_full(setup_.plan->suites[test.suite], admission, last, index)) last = place;
    place = last;
  }
  if (place == admission.groups.size()) {
    admission.groups.emplace_back().pin_to(only);
    const Demand& demand = admission.demands.emplace_back(demand_of(index, only));
    admission.keys.push_back({.devices = demand.takes == Takes::kDevices ? demand.devices : 0});
  }
  admission.keys[place].duration_ms += admission.expected.of(index);
  return admission.groups[place];
}

void PendingCases::admit(const std::function<void(const CaseGroup::Finished&)>& refused,
                         const std::function<void(std::size_t, std::size_t)>& in_parts) {
  const Plan& plan = *setup_.plan;
  Admission admission{.expected = ExpectedDurations(plan, setup_.repeats.order.durations)};
  const std::set<std::size_t> verified = cases_to_verify(plan, setup_.attempts.run_id);
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const Case& test = plan.cases[i];
    if (const auto refusal = refuse(setup_, pool_, plan.suites[test.suite], test)) {
      refused({.index = i, .verdict = refusal->verdict, .marks = {}, .note = refusal->note});
      continue;
    }
    const auto sets = devices_to_repeat_on(pool_, test, to_string(plan.suites[test.suite].backend),
                                           setup_.repeats.each_device);
    RepeatPolicy policy = policy_of(setup_, test, sets.size());
    policy.verify = verified.contains(i);
    const auto pin = setup_.repeats.pins.find(test.id);
    std::set<std::string> only;
    if (pin != setup_.repeats.pins.end()) only = {pin->second};
    if (sets.empty()) group_for(i, only, admission).add(i, policy);
    for (const auto& set : sets) {
      group_for(i, set, admission).add(i, policy);
      if (set != sets.back()) policy.first_repeat += policy.repeat;
    }
    if (sets.size() > 1) in_parts(i, sets.size());
  }
  line_up(std::move(admission));
}

void PendingCases::line_up(Admission admission) {
  std::vector<std::size_t> order(admission.groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (setup_.repeats.order.longest_first) order = longest_first(admission.keys);
  groups_.reserve(order.size());
  for (const std::size_t place : order) append(admission.demands[place], std::move(admission.groups[place]));
}

void PendingCases::append(const Demand& demand, CaseGroup group) {
  auto queue = std::ranges::find(queues_, demand, &Queue::demand);
  if (queue == queues_.end()) queue = queues_.insert(queue, Queue{.demand = demand});
  queue->places.push_back(groups_.size());
  groups_.push_back(std::move(group));
  ++left_;
}

// ---- Selection of the next group ----

// Counts the groups of the same backend that have begun and are later in the order than the first group of the queue.
std::size_t PendingCases::passed_over(const Queue& queue) const {
  const std::size_t first = queue.places[queue.begun];
  std::size_t count = 0;
  for (const Queue& other : queues_) {
    if (&other == &queue || other.demand.backend != queue.demand.backend) continue;
    const auto begun = other.places.begin() + static_cast<std::ptrdiff_t>(other.begun);
    count += static_cast<std::size_t>(begun - std::lower_bound(other.places.begin(), begun, first));
  }
  return count;
}

// Returns whether the limit of the concurrency group is reached.
bool PendingCases::is_at_limit(const std::string& concurrency_group) const {
  const auto running = running_.find(concurrency_group);
  const auto max = setup_.plan->concurrency_groups.find(concurrency_group);
  return running != running_.end() && max != setup_.plan->concurrency_groups.end() &&
         running->second >= max->second;
}

std::vector<PendingCases::Candidate> PendingCases::candidates(const Room& room) const {
  std::vector<Candidate> candidates;
  const auto may_start = [&](const Demand& demand) {
    return (room.has_core || demand.takes != Takes::kCore) && !is_at_limit(demand.concurrency_group);
  };
  for (std::size_t i = 0; i < put_back_.size(); ++i) {
    const PutBack& back = put_back_[i];
    if (!may_start(back.demand) || (back.is_lone && !room.is_empty)) continue;
    candidates.push_back({.group = &back.group,
                          .demand = &back.demand,
                          .overdue = back.passed_over >= kMostPassedOver,
                          .put_back = i,
                          .is_lone = back.is_lone});
  }
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const Queue& queue = queues_[i];
    if (queue.begun == queue.places.size() || !may_start(queue.demand)) continue;
    candidates.push_back(
        {.group = &groups_[queue.places[queue.begun]],
         .demand = &queue.demand,
         .overdue = queue.demand.takes == Takes::kDevices && passed_over(queue) >= kMostPassedOver,
         .queue = i});
  }
  const auto urgency = [&](const Candidate& candidate) {
    const std::size_t place =
        candidate.put_back ? 0 : queues_[candidate.queue].places[queues_[candidate.queue].begun];
    return std::tuple(candidate.is_lone, room.first && candidate.demand->takes != *room.first,
                      !candidate.overdue, !candidate.put_back, place);
  };
  std::ranges::stable_sort(candidates, {}, urgency);
  return candidates;
}

// A group gets devices that it avoids if no other devices can ever be leased.
LeaseRequest PendingCases::lease_request_of(const CaseGroup& group, const Demand& demand) const {
  LeaseRequest lease_request{.only = demand.only, .none_of = group.avoids()};
  if (!pool_.can_ever_lease(demand.backend, demand.devices, lease_request)) lease_request.none_of.clear();
  return lease_request;
}

std::optional<std::vector<std::string>> PendingCases::devices_for(const Candidate& candidate, Found& found) {
  const Demand& demand = *candidate.demand;
  if (demand.devices == 0) return std::vector<std::string>();
  // A repeated request for as many devices reads every lease file and has the same result.
  if (const auto least = found.refused.find(demand.backend);
      least != found.refused.end() && demand.devices >= least->second)
    return std::nullopt;
  LeaseRequest lease_request = lease_request_of(*candidate.group, demand);
  const bool any_will_do = lease_request.only.empty() && lease_request.none_of.empty();
  const bool may_ever_fit = pool_.can_ever_lease(demand.backend, demand.devices, lease_request);
  lease_request.none_of.insert(found.reserved.begin(), found.reserved.end());
  const bool is_ours_to_free =
      demand.takes == Takes::kDevices && pool_.idle(demand.backend, lease_request) < demand.devices;
  if (!is_ours_to_free) {
    if (auto leased = pool_.lease(demand.backend, demand.devices,
                                  setup_.plan->cases[candidate.group->first()].id, lease_request))
      return leased;
    for (const auto& holder : pool_.held_elsewhere()) holders_.insert(holder);
  }
  if (candidate.overdue && is_ours_to_free && may_ever_fit) {
    if (lease_request.only.empty()) {
      found.refused[demand.backend] = 0;
    } else {
      found.reserved.insert(lease_request.only.begin(), lease_request.only.end());
    }
  } else if (any_will_do) {
    found.refused[demand.backend] = demand.devices;
  }
  return std::nullopt;
}

std::optional<PendingCases::Start> PendingCases::take_first_that_fits(const Room& room) {
  holders_.clear();
  Found found;
  for (const Candidate& candidate : candidates(room)) {
    ++looked_at_;
    if (auto devices = devices_for(candidate, found)) return take(candidate, *std::move(devices));
  }
  return std::nullopt;
}

PendingCases::Start PendingCases::take(const Candidate& candidate, std::vector<std::string> devices) {
  const Demand demand = *candidate.demand;
  Start start{.group = {},
              .devices = std::move(devices),
              .takes = demand.takes,
              .is_lone = candidate.is_lone,
              .concurrency_group = demand.concurrency_group};
  if (!start.concurrency_group.empty()) ++running_[start.concurrency_group];
  if (candidate.put_back) {
    start.group = std::move(put_back_[*candidate.put_back].group);
    put_back_.erase(put_back_.begin() + static_cast<std::ptrdiff_t>(*candidate.put_back));
  } else {
    start.group = take_batch(queues_[candidate.queue]);
  }
  for (PutBack& back : put_back_) back.passed_over += back.demand.backend == demand.backend ? 1 : 0;
  left_ = put_back_.size();
  for (const Queue& queue : queues_) left_ += queue.places.size() - queue.begun;
  return start;
}

void PendingCases::ended(const std::string& concurrency_group) {
  if (!concurrency_group.empty()) --running_[concurrency_group];
}

// Takes the first group of the queue, or as many of its cases as may share a process.
CaseGroup PendingCases::take_batch(Queue& queue) {
  CaseGroup& first = groups_[queue.places[queue.begun]];
  const Suite& suite = setup_.plan->suites[setup_.plan->cases[first.first()].suite];
  const std::size_t count = batch_size(suite.batch, first.size(), setup_.repeats.order.jobs);
  if (count < first.size() && !first.begun()) return first.split(count);
  ++queue.begun;
  return std::move(first);
}

void PendingCases::put_back(CaseGroup group) {
  Demand demand = demand_of(group.first(), group.pinned_to());
  put_back_.push_front({.group = std::move(group), .demand = std::move(demand)});
  ++left_;
}

void PendingCases::put_lone(CaseGroup group) {
  put_back(std::move(group));
  put_back_.front().is_lone = true;
}

void PendingCases::put_last(CaseGroup group) {
  const Demand demand = demand_of(group.first(), group.pinned_to());
  append(demand, std::move(group));
}

CaseGroup::NoMore PendingCases::why_no_devices(const CaseGroup& group) const {
  const Demand demand = demand_of(group.first(), group.pinned_to());
  const Reason reason = pool_.why_taken_out(demand.backend, {.only = demand.only});
  return {{Outcome::kNotrun, reason},
          reason == Reason::kDeviceUnhealthy ? "its device was found unhealthy, and there is no other for it"
                                             : "the devices that it needs are lost to this run"};
}

std::vector<CaseGroup::Finished> PendingCases::drop(const CaseGroup::NoMore& why) {
  return drop_each([&why](const CaseGroup&) { return why; });
}

std::vector<CaseGroup::Finished> PendingCases::drop_without_devices() {
  return drop_each([this](const CaseGroup& group) { return why_no_devices(group); });
}

std::vector<CaseGroup::Finished> PendingCases::drop_each(const Why& why) {
  std::vector<CaseGroup::Finished> dropped;
  const auto give_up = [&](CaseGroup& group) {
    auto finished = group.give_up(why(group));
    std::move(finished.begin(), finished.end(), std::back_inserter(dropped));
  };
  for (PutBack& back : put_back_) give_up(back.group);
  for (const Queue& queue : queues_) {
    for (std::size_t i = queue.begun; i < queue.places.size(); ++i) give_up(groups_[queue.places[i]]);
  }
  put_back_.clear();
  queues_.clear();
  left_ = 0;
  std::ranges::stable_sort(dropped, {}, &CaseGroup::Finished::index);
  return dropped;
}

}  // namespace proctor
