// What the caller of a run asks while it lasts (run_control.h): to stop, to wait (Ctrl-Z), and what its cases are doing.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>

#include "harness/process/contained_process.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/schedule/run_control.h"
#include "harness/runner/schedule/run_stop.h"
#include "harness/runner/schedule/running_groups.h"

namespace proctor {

class JobControl {
 public:
  JobControl(boost::asio::io_context& io, Containment& containment, const AttemptSetup& setup,
             RunControl& control, RunningGroups& groups, RunStop& stop);
  ~JobControl();
  JobControl(const JobControl&) = delete;
  JobControl& operator=(const JobControl&) = delete;

  // From now on requests are obeyed, until the last case has ended: then they wait.
  void begin();
  void close() { control_.end(); }
  // No limit counts the time until `fg` (process/frozen_time.h).
  void suspend(RunControl::Suspended what);
  // Ends what is still asked.
  void end();

 private:
  void wait();
  void obey(const RunControl::Record& record);
  void dump();

  boost::asio::io_context& io_;
  Containment& containment_;
  const AttemptSetup& setup_;
  RunControl& control_;
  RunningGroups& groups_;
  RunStop& stop_;
  boost::asio::posix::stream_descriptor requests_;
  std::shared_ptr<ContainedProcess> dump_;
};

}  // namespace proctor
