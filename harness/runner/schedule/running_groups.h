// RunningGroups owns the groups that run now. The parts of a run stop, freeze or begin groups through it.
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

// A stop from outside must leave time for the reports: CI services kill a job seconds after they asked.
constexpr Milliseconds kStopGrace{3'500};

// A group of cases that has begun: it keeps its slot and its devices until the last attempt of its last case has ended.
//
//   entering --its devices are well--> running: the process of an attempt
//   running --the process has ended--> leaving: its devices are looked at
//   leaving --cases are left--> entering, on the same devices
//   leaving --they have had their turn--> ended; they are pending again, behind all others
//   leaving --only proofs are left--> ended; they are pending again, and then run without any other group
//   leaving --no case is left--> ended
//   entering | leaving --other devices are needed--> ended; its cases are pending again, or there are none for them
class RunningGroup : private AttemptListener {
 public:
  // `is_lone`: no other group runs beside it.
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
        ended;  // called once, from the loop or from inside, unless abandoned. May destroy it
    std::function<void()> stopped;  // a case that has the terminal was stopped there
  };
  void begin(Listener listener);
  // Some process of it was started.
  bool begun() const { return begun_; }
  bool may_begin_more() const { return !begun_ || group_.has_more(); }
  // None: its devices are waited for.
  RunningAttempt* attempt() const { return process_.attempt.get(); }

  // Its attempt ends early if the device is one of its own.
  void lose(const std::string& device);

  // If its processes do not die, after RunningAttempt::abandon(): what its attempts say counts, then its cases end.
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
  GroupProcess process_;  // the present one, or the last one
  bool begun_ = false;
  Listener listener_;
};

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

  // `ended` is called once, unless the run abandons the group: from the loop, or from inside. `begun`: some process of it
  // was started.
  using OnEnded = std::function<void(bool begun)>;
  void start(PendingCases::Start start, OnEnded ended);

  bool empty() const { return groups_.empty(); }
  int size() const { return static_cast<int>(groups_.size()); }
  bool may_begin_more() const;

  // Lets the cases that have begun go on to their ends, but lets no other begin.
  void begin_no_more();
  // Between these two none of their processes runs (RunningAttempt::freeze()).
  void freeze();
  void thaw();
  // Ends the attempts on this device.
  void lose(const std::string& device);
  // Ends what runs, and what waits for devices. Call it once the stage is that of a stop.
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
