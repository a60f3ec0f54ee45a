#include "harness/runner/schedule/job_control.h"

#include <signal.h>

#include <cstdio>
#include <utility>

namespace proctor {
namespace {

constexpr Milliseconds kDumpLimit{30'000};

}  // namespace

JobControl::JobControl(boost::asio::io_context& io, Containment& containment, const AttemptSetup& setup,
                       RunControl& control, RunningGroups& groups, RunStop& stop)
    : io_(io),
      containment_(containment),
      setup_(setup),
      control_(control),
      groups_(groups),
      stop_(stop),
      requests_(io, control.descriptor()) {}

JobControl::~JobControl() { requests_.release(); }  // the control closes it

void JobControl::begin() {
  control_.begin();
  wait();
}

void JobControl::wait() {
  requests_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const auto& error) {
    if (error) return;
    if (const auto record = control_.take()) obey(*record);
    wait();
  });
}

void JobControl::obey(const RunControl::Record& record) {
  switch (record.request) {
    case RunControl::Request::kStop:
      return stop_.on_stop(record.signal, record.cause);
    case RunControl::Request::kSuspend:
      return suspend(RunControl::Suspended::kProcess);
    case RunControl::Request::kDump:
      return dump();
  }
}

void JobControl::suspend(RunControl::Suspended what) {
  groups_.freeze();
  control_.pause(what);
  groups_.thaw();
}

// As another process sees them; on stderr, where it ends no line of a report.
void JobControl::dump() {
  if (dump_ || setup_.own_program.empty()) return;
  ProcessSpec spec;
  spec.argv = {setup_.own_program, "dump", setup_.run_dir};
  spec.env = setup_.evidence_environment;
  spec.reach = Reach::kMachine;
  spec.keep_stdout = true;
  spec.limits.timeout = kDumpLimit;
  spec.limits.grace = Milliseconds(0);
  dump_ = ContainedProcess::start(io_, containment_, std::move(spec), [this](const ProcessEnd& end) {
    dump_.reset();
    std::fputs((end.kept_stdout + end.output.stderr_tail).c_str(), stderr);
  });
}

void JobControl::end() {
  if (dump_) dump_->stop(SIGKILL, Milliseconds(0));
}

}  // namespace proctor
