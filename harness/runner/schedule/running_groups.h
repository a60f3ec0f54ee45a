// RunningGroups owns the groups that run now. The parts of a run stop, freeze or begin groups through it.
#pragma once

#include <functional>
#include <list>
#include <string>

#include "harness/runner/schedule/running_group.h"

namespace proctor {

class RunningGroups {
 public:
  RunningGroups(const RunSetup& setup, const RunStage& stage, Attempts& attempts, PendingCases& pending,
                CaseEnds& ends, DevicePool& pool, DeviceVisits& visits)
      : setup_(setup),
        stage_(stage),
        processes_(setup, attempts),
        pending_(pending),
        ends_(ends),
        pool_(pool),
        visits_(visits) {}

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
  DeviceVisits& visits_;
  std::function<void()> on_stopped_;
  std::list<RunningGroup> groups_;
};

}  // namespace proctor
