// The groups that run now. RunningGroup runs one group from its devices to the ends of its cases. RunningGroups owns
// all of them; the other parts of a run start, freeze and stop groups through it.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "harness/runner/attempt/attempt.h"
#include "harness/runner/attempt/case_group.h"
#include "harness/runner/schedule/case_ends.h"
#include "harness/runner/schedule/group_processes.h"
#include "harness/runner/schedule/pending_cases.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/runner/schedule/run_stage.h"

namespace proctor {

// A stop by a signal must leave time for the reports: CI services kill a job a few seconds after their stop signal.
constexpr Milliseconds kStopGrace{3'500};

// A group of cases that has begun. It keeps its slot and its devices until the last attempt of its last case has ended.
//
//   entering --its devices are healthy--> running: the process of an attempt
//   running --the process has ended--> leaving: its devices are examined
//   leaving --cases remain--> entering, on the same devices
//   leaving --their turn is over--> ended; they are pending again, behind all others
//   leaving --only proofs remain--> ended; they are pending again, and then run without any other group
//   leaving --no case remains--> ended
//   entering | leaving --other devices are needed--> ended; its cases are pending again, or end without devices
class RunningGroup : private AttemptListener {
 public:
  // `is_lone` means that no other group runs at the same time.
  RunningGroup(const RunSetup& setup, const RunStage& stage, GroupProcesses& processes, PendingCases& pending,
               CaseEnds& ends, GroupDevices devices, CaseGroup group, bool is_lone)
      : setup_(setup),
        stage_(stage),
        processes_(processes),
        pending_(pending),
        ends_(ends),
        devices_(std::move(devices)),
        group_(std::move(group)),
        is_lone_(is_lone) {}
  RunningGroup(const RunningGroup&) = delete;
  RunningGroup& operator=(const RunningGroup&) = delete;

  struct Listener {
    std::function<void()>
        ended;  // called once unless abandoned: from the loop or inside a call. It may destroy the group
    std::function<void()> stopped;  // a case that has the terminal was stopped there
  };
  void begin(Listener listener);
  // Returns whether a process of the group was started.
  bool begun() const { return begun_; }
  bool may_begin_more() const { return !begun_ || group_.has_more(); }
  // Returns null while the group waits for its devices.
  RunningAttempt* attempt() const { return process_.attempt.get(); }

  // If the group holds the device, its attempt ends early.
  void lose(const std::string& device);

  // Ends the cases after RunningAttempt::abandon(), if the processes do not die. Results of ended attempts count.
  void settle(const DeviceAdmission::Left& left) { verdicts_.settle(left, unproven_ones()); }
  void give_up(const CaseGroup::NoMore& why) { ends_.announce(group_.give_up(why)); }

 private:
  void begin_process();
  void on_entered(const DeviceAdmission::Entry& entry);
  void start_attempt();
  void on_case_ended(std::size_t which, const AttemptEnded& ended, bool went_on) override;
  void on_stopped() override { listener_.stopped(); }
  void on_process_ended(ProcessFate fate) override;
  struct Ended {
    ProcessFate fate;
    std::vector<std::size_t> not_begun;
    Unproven unproven;
    bool unreliable;
  };
  Unproven unproven_ones() const;
  void on_left(const Ended& ended, const DeviceAdmission::Left& left);
  void go_on(ProcessFate fate, const std::vector<std::size_t>& not_begun);
  bool moves_on();
  bool have_other_devices(const LeaseRequest& lease_request) const;
  void leave_unhealthy_devices();
  void go_on_elsewhere(bool after_others = false);
  void give_up_stopped();
  void end();

  const RunSetup& setup_;
  const RunStage& stage_;
  GroupProcesses& processes_;
  PendingCases& pending_;
  CaseEnds& ends_;
  GroupDevices devices_;
  CaseGroup group_;
  const bool is_lone_;
  GroupVerdicts verdicts_{setup_, stage_, ends_, group_, devices_};
  GroupProcess process_;  // the current process, or the last one
  bool begun_ = false;
  Listener listener_;
};

// Owns all running groups.
class RunningGroups {
 public:
  RunningGroups(const RunSetup& setup, const RunStage& stage, Attempts& attempts, PendingCases& pending,
                CaseEnds& ends, DevicePool& pool, DeviceAdmission& admissions)
      : setup_(setup),
        stage_(stage),
        processes_(setup, attempts),
        pending_(pending),
        ends_(ends),
        pool_(pool),
        admission_(admissions) {}

  // `listener` is called when a case that has the terminal was stopped there.
  void listen(std::function<void()> listener) { on_stopped_ = std::move(listener); }

  // `ended` is called once unless the run abandons the group: from the loop, or inside this call. `begun` means that a
  // process of the group was started.
  using OnEnded = std::function<void(bool begun)>;
  void start(PendingCases::Start start, OnEnded ended);

  bool empty() const { return groups_.empty(); }
  int size() const { return static_cast<int>(groups_.size()); }
  bool may_begin_more() const;

  // Cases that have begun continue to their ends. No other case begins.
  void begin_no_more();
  // None of their processes runs between these two calls (RunningAttempt::freeze()).
  void freeze();
  void thaw();
  // Ends the attempts on this device.
  void lose(const std::string& device);
  // Ends the running attempts, and the waits for devices. Call it after the stage has changed to a stop.
  void stop(int signal, Milliseconds grace);
  // Ends the groups whose processes do not die.
  void abandon();

 private:
  const RunSetup& setup_;
  const RunStage& stage_;
  GroupProcesses processes_;
  PendingCases& pending_;
  CaseEnds& ends_;
  DevicePool& pool_;
  DeviceAdmission& admission_;
  std::function<void()> on_stopped_;
  std::list<RunningGroup> groups_;
};

}  // namespace proctor
