// A group of cases that has begun: it keeps its slot and its devices until the last attempt of its last case has ended.
//
//   entering --its devices are well--> running: the process of an attempt
//   running --the process has ended--> leaving: its devices are looked at
//   leaving --cases are left--> entering, on the same devices
//   leaving --they have had their turn--> ended; they are pending again, behind all others
//   leaving --only proofs are left--> ended; they are pending again, and then run without any other group
//   leaving --no case is left--> ended
//   entering | leaving --other devices are needed--> ended; its cases are pending again, or there are none for them
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/run/attempt/attempt.h"
#include "harness/run/schedule/group_verdicts.h"
#include "harness/run/schedule/run_context.h"

namespace proctor {

class RunningGroup {
 public:
  // `is_lone`: no other group runs beside it.
  RunningGroup(RunContext& run, CaseGroup group, std::vector<std::string> devices, bool is_lone)
      : run_(run), group_(std::move(group)), devices_{std::move(devices)}, is_lone_(is_lone) {}
  RunningGroup(const RunningGroup&) = delete;
  RunningGroup& operator=(const RunningGroup&) = delete;

  // `ended` is called once, from the loop or from inside, unless the run abandons the group. May destroy it.
  void begin(std::function<void()> ended);
  // Some process of it was started.
  bool begun() const { return begun_; }
  bool may_begin_more() const { return !begun_ || group_.has_more(); }
  // None: its devices are waited for.
  RunningAttempt* attempt() const { return attempt_.get(); }

  // Its attempt ends early if the device is one of its own.
  void lose(const std::string& device);

  // If its processes do not die, after RunningAttempt::abandon(): what its attempts say counts, then its cases end.
  void settle(const DeviceVisits::Left& left) { verdicts_.settle(left, unproven_ones()); }
  void give_up(const CaseGroup::NoMore& why) { run_.ends.announce(group_.give_up(why)); }

 private:
  void begin_process();
  void on_entered(const DeviceVisits::Entry& entry);
  void start_attempt();
  void on_case_ended(std::size_t which, const AttemptEnded& ended, bool went_on);
  void on_process_ended(ProcessFate fate);
  void count_time();
  struct Ended {
    ProcessFate fate;
    std::vector<std::size_t> not_begun;
    Unproven unproven;
    bool unreliable;
  };
  Unproven unproven_ones() const;
  void on_left(const Ended& ended, const DeviceVisits::Left& left);
  void go_on(ProcessFate fate, const std::vector<std::size_t>& not_begun);
  bool moves_on();
  bool can_have_others(const DeviceWish& wish) const;
  void leave_sick_devices();
  void go_on_elsewhere(bool after_others = false);
  void give_up_stopped();
  void end();

  RunContext& run_;
  CaseGroup group_;
  GroupDevices devices_;
  const bool is_lone_;
  GroupVerdicts verdicts_{run_, group_, devices_};
  std::unique_ptr<RunningAttempt> attempt_;
  Clock::time_point process_started_{};
  bool verifies_ = false;  // the process runs a case alone whose pass it verifies
  bool begun_ = false;
  bool doubt_ = false;     // about its devices, by the way in which an attempt ended
  bool poisoned_ = false;  // the process, by an error of its devices
  bool leaked_ = false;    // the process left processes behind, which is forbidden
  std::function<void()> ended_;
};

using RunningGroups = std::list<RunningGroup>;

}  // namespace proctor
