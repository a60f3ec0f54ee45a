#include "harness/run/schedule/job_control.h"

#include <signal.h>

#include <cstdio>
#include <utility>

namespace proctor {
namespace {

constexpr Milliseconds kDumpLimit{30'000};

}  // namespace

JobControl::JobControl(AttemptContext& context, RunningGroups& groups)
    : context_(context),
      groups_(groups),
      signals_(
          context.io, [this] { suspend(JobSignals::Who::kSelf); }, [this] { dump(); }) {}

void JobControl::suspend(JobSignals::Who who) {
  for (auto& group : groups_) {
    if (auto* attempt = group.attempt()) attempt->freeze();
  }
  JobSignals::stop_here(who);
  for (auto& group : groups_) {
    if (auto* attempt = group.attempt()) attempt->thaw();
  }
}

// As another process sees them; on stderr, where it ends no line of a report.
void JobControl::dump() {
  if (dump_ || context_.setup.own_program.empty()) return;
  ProcessSpec spec;
  spec.argv = {context_.setup.own_program, "dump", context_.setup.run_dir};
  spec.env = context_.setup.evidence_environment;
  spec.reach = Reach::kMachine;
  spec.keep_stdout = true;
  spec.limits.timeout = kDumpLimit;
  spec.limits.grace = Milliseconds(0);
  dump_ = ContainedProcess::start(context_.io, context_.containment, std::move(spec),
                                  [this](const ProcessEnd& end) {
                                    dump_.reset();
                                    std::fputs((end.kept_stdout + end.output.stderr_tail).c_str(), stderr);
                                  });
}

void JobControl::end() {
  if (dump_) dump_->stop(SIGKILL, Milliseconds(0));
}

}  // namespace proctor
