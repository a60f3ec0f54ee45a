// Of RunningAttempt: what is looked at between a limit and its first signal.
#include <fmt/format.h>

#include "harness/evidence/gatherer.h"
#include "harness/process/contained_process.h"
#include "harness/run/attempt/attempt.h"
#include "harness/run/attempt/attempt_files.h"

namespace proctor {

// A device that is busy waits for itself, an idle one for the case.
std::vector<std::string> RunningAttempt::devices_and_load() const {
  std::vector<std::string> described = plan_.devices;
  if (context_.telemetry == nullptr || !open_) return described;
  for (auto& device : described) {
    const auto busy = context_.telemetry->utilisation(open_->telemetry, device);
    if (busy) device += fmt::format(" ({:.0f} % busy)", *busy);
  }
  return described;
}

void RunningAttempt::gather(int guard_pid, std::function<void()> then) {
  const Clock::time_point begin = Clock::now();
  const AttemptCase& entry = blamed();
  const KernelEvidence kernel =
      context_.diagnoser.evidence(open_ ? open_->kernel_mark : process_mark_, addresses_);
  evidence_.file = attempt_evidence(entry.test->id, entry.attempt, entry.repeat);
  const GatherRequest request{.program = context_.evidence_program,
                              .guard = guard_pid,
                              .devices = devices_and_load(),
                              .file = context_.run_dir + "/" + evidence_.file,
                              .kernel_lines = kernel.lines,
                              .kernel_gap = kernel.gap,
                              .environment = context_.evidence_environment};
  gathering_ = gather_evidence(
      context_.io, context_.containment, request,
      [this, alive = alive_, begin, then = std::move(then)](Gathered gathered) {
        if (!*alive) return;
        evidence_.lines = std::move(gathered.lines);
        evidence_.duration_ms = std::chrono::duration_cast<Milliseconds>(Clock::now() - begin).count();
        gathering_.reset();
        if (!gathered.problem.empty()) {
          context_.sink.on(
              Warning{"evidence", "the evidence of " + blamed().test->id + " " + gathered.problem});
        }
        then();
      });
}

}  // namespace proctor
