// The processes of running groups, and the devices on which they run. RunningGroup uses both classes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/result.h"
#include "harness/devices/admission/device_admission.h"
#include "harness/devices/leases/device_pool.h"
#include "harness/plan/plan.h"
#include "harness/runner/attempt/attempts.h"
#include "harness/runner/attempt/case_group.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/runner/schedule/verification.h"

namespace proctor {

// The devices that a running group holds, from their lease until their release. A group may hold no device.
class GroupDevices {
 public:
  GroupDevices(DevicePool& pool, DeviceAdmission& admissions, std::vector<std::string> ids)
      : pool_(pool), admission_(admissions), ids_(std::move(ids)) {}

  const std::vector<std::string>& ids() const { return ids_; }
  bool empty() const { return ids_.empty(); }
  // Returns whether a device was lost. These devices get no more cases of this group.
  bool are_lost() const { return lost_; }
  // Returns the descriptors of the leases.
  std::vector<int> descriptors() const { return pool_.descriptors(ids_); }
  // Returns whether the pool can ever have other devices for the case.
  bool have_others(const Suite& suite, const Case& test, const LeaseRequest& lease_request) const {
    return pool_.can_ever_lease(std::string(to_string(suite.backend)), test.devices, lease_request);
  }

  // These functions call DeviceAdmission. If one device is unhealthy, all devices of the group count as lost.
  void enter(const std::string& case_id, bool suspicion, DeviceAdmission::OnEntry done);
  void leave(const std::string& case_id, bool suspicion, DeviceAdmission::OnLeft done);

  // A process of the case does not die. Drains the devices, so that no run gets them.
  void drain_unkillable(const std::string& case_id);
  // Returns whether `device` belongs to the group. If it does, all devices of the group are lost and retired.
  bool lose(const std::string& device);
  // Makes the next run examine the devices.
  void retire() { pool_.retire(ids_); }
  // Returns unused devices in their earlier state.
  void return_unused() { pool_.return_unused(std::exchange(ids_, {})); }
  void release() { pool_.release(ids_); }

 private:
  DevicePool& pool_;
  DeviceAdmission& admission_;
  std::vector<std::string> ids_;
  bool lost_ = false;
};

// One process of a group.
struct GroupProcess {
  std::unique_ptr<RunningAttempt> attempt{};  // null after the end of the process
  Clock::time_point began{};
  bool verifies = false;   // it runs one case alone to verify its pass
  bool suspicion = false;  // the end of an attempt raises doubt about the devices
  bool poisoned = false;   // an error of the devices may affect all its cases
  bool leaked = false;     // the process left processes behind, which is forbidden
};

// Starts the processes of groups: it selects their cases and makes their environments. It limits the time for verified
// passes. If a program reports several cases of a process wrongly, it runs the cases of its suite one by one.
class GroupProcesses {
 public:
  GroupProcesses(const RunSetup& setup, Attempts& attempts) : setup_(setup), attempts_(attempts) {}

  // Starts the next process of the group. Returns an error if an environment cannot be made.
  Result<GroupProcess> start(CaseGroup& group, const GroupDevices& devices, AttemptListener& listener);
  // Call this after the end of the process, before its attempt is destroyed.
  void ended(const CaseGroup& group, const GroupProcess& process);
  // Returns whether a case of the group may run alone to verify its pass.
  bool may_verify(const CaseGroup& group) const { return time_.allows(suite_of(group)); }

 private:
  AttemptPlan plan(CaseGroup& group, const GroupDevices& devices) const;
  const Suite& suite_of(const CaseGroup& group) const { return setup_.suite(group.case_of(0)); }

  const RunSetup& setup_;
  Attempts& attempts_;
  VerificationTime time_;
  std::set<const Suite*> one_by_one_;  // suites whose programs report several cases of a process wrongly
};

}  // namespace proctor
