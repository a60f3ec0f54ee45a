#include "harness/runner/schedule/group_processes.h"

#include <algorithm>
#include <utility>

#include "harness/runner/attempt/ranks_of_case.h"

namespace proctor {

void GroupDevices::enter(const std::string& case_id, bool suspicion, DeviceAdmission::OnEntry done) {
  admission_.enter(ids_, case_id, suspicion, std::move(done));
}

void GroupDevices::leave(const std::string& case_id, bool suspicion, DeviceAdmission::OnLeft done) {
  admission_.leave(ids_, case_id, suspicion,
                   [this, done = std::move(done)](const DeviceAdmission::Left& left) {
                     lost_ = lost_ || left.any_unhealthy;
                     done(left);
                   });
}

void GroupDevices::drain_unkillable(const std::string& case_id) {
  lost_ = true;
  for (const auto& device : ids_)
    admission_.drain(device, "unkillable", "a process of " + case_id + " does not die", case_id);
}

bool GroupDevices::lose(const std::string& device) {
  if (std::ranges::find(ids_, device) == ids_.end()) return false;
  lost_ = true;
  retire();  // the run does not wait until their memory is free, so the next run must check them
  return true;
}

namespace {

// Sets the environments of the attempt and of its ranks. It fails if no device mask can express the lease, because a
// case never gets more devices than it holds.
Result<void> give_environment(const RunSetup& setup, AttemptPlan& plan) {
  const auto ranks = static_cast<std::size_t>(plan.first().test->ranks);
  auto own = setup.rules->environment(*plan.suite, ranks == 0 ? plan.devices : std::vector<std::string>{});
  if (!own) return own.error();
  plan.environment = std::move(*own);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto environment = setup.rules->environment(*plan.suite, devices_of_rank(plan.devices, rank, ranks));
    if (!environment) return environment.error();
    plan.ranks.push_back(std::move(*environment));
  }
  return {};
}

}  // namespace

AttemptPlan GroupProcesses::plan(CaseGroup& group, const GroupDevices& devices) const {
  AttemptPlan plan{.suite = &setup_.suite(group.first()),
                   .cases = {},
                   .devices = devices.ids(),
                   .leases = devices.descriptors(),
                   .environment = {},
                   .ranks = {}};
  if (one_by_one_.contains(plan.suite)) group.stand_alone();
  for (const CaseGroup::Execution& execution : group.next_process()) {
    plan.cases.push_back({.test = &setup_.test(execution.index),
                          .attempt = execution.attempt,
                          .repeat = execution.repeat,
                          .silent = execution.silent});
  }
  return plan;
}

Result<GroupProcess> GroupProcesses::start(CaseGroup& group, const GroupDevices& devices,
                                           AttemptListener& listener) {
  AttemptPlan plan = this->plan(group, devices);
  if (auto given = give_environment(setup_, plan); !given) return given.error();
  GroupProcess process{.began = Clock::now(), .verifies = group.is_verification()};
  if (process.verifies) time_.begin_alone(*plan.suite);
  process.attempt = attempts_.start(std::move(plan), listener);
  return process;
}

void GroupProcesses::ended(const CaseGroup& group, const GroupProcess& process) {
  const Suite& suite = suite_of(group);
  const auto duration = std::chrono::duration_cast<Milliseconds>(Clock::now() - process.began);
  if (process.verifies) {
    time_.end_alone(suite, duration);
  } else if (group.is_shared()) {
    time_.add_batch(suite, duration);
  }
  if (process.attempt->is_refused()) one_by_one_.insert(&suite);
}

}  // namespace proctor
