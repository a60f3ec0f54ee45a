// GroupProcesses starts the processes of groups: it chooses their cases and makes their environment. It limits the time for
// verified passes, and runs the cases of an unreliable program one by one.
#pragma once

#include <memory>
#include <set>

#include "harness/base/clock.h"
#include "harness/base/result.h"
#include "harness/runner/attempt/attempts.h"
#include "harness/runner/attempt/case_group.h"
#include "harness/runner/schedule/group_devices.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/runner/schedule/verification_time.h"

namespace proctor {

// One of a group.
struct GroupProcess {
  std::unique_ptr<RunningAttempt> attempt{};  // null: it has ended
  Clock::time_point began{};
  bool verifies = false;  // it runs a case alone whose pass it verifies
  bool doubt = false;     // about its devices, by the way in which an attempt ended
  bool poisoned = false;  // by an error of its devices
  bool leaked = false;    // it left processes behind, which is forbidden
};

class GroupProcesses {
 public:
  GroupProcesses(const RunSetup& setup, Attempts& attempts) : setup_(setup), attempts_(attempts) {}

  // Starts the next process of the group. An error is an environment that cannot be made.
  Result<GroupProcess> start(CaseGroup& group, const GroupDevices& devices, AttemptListener& listener);
  // Call this when it has ended, while it still has its attempt.
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
