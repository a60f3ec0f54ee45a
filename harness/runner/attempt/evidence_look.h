// What is looked at when the process of an attempt hangs, or when it has crashed. Another process gathers it
// (harness/process/evidence/), with a deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "harness/base/alive.h"
#include "harness/base/clock.h"
#include "harness/process/evidence/gatherer.h"
#include "harness/process/process_spec.h"
#include "harness/runner/attempt/attempt_files.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/core_files.h"
#include "harness/runner/attempt/rank_reports.h"

namespace boost::asio {
class io_context;
}

namespace proctor {

class Containment;

// The crash of the leader, or of the rank that answers for the case, whose leader is our supervisor. None if there is
// no core to look for.
std::optional<CrashedProcessEnd> crash_of(const AttemptSetup& setup, const ProcessEnd& end,
                                          const RankReports* ranks);

class EvidenceSnapshot {
 public:
  // Called once, unless the look is destroyed before. `problem`: why there may be less than usual, or "".
  using OnDone = std::function<void(const std::string& problem)>;

  EvidenceSnapshot(boost::asio::io_context& io, Containment& containment, const AttemptSetup& setup,
                   const RunFiles& files, CoreFiles& cores)
      : io_(io), containment_(containment), setup_(setup), files_(files), cores_(cores) {}
  ~EvidenceSnapshot();
  EvidenceSnapshot(const EvidenceSnapshot&) = delete;
  EvidenceSnapshot& operator=(const EvidenceSnapshot&) = delete;

  // Between a limit and its first signal. `request` says what is particular to the case, which is `blamed`. The look
  // `began` before that was found out.
  void at_limit(const AttemptCase& blamed, Clock::time_point began, GatherRequest request, OnDone done);
  // After the end of the process. `done` may be called from inside.
  void after_crash(const AttemptCase& blamed, const AttemptPlan& plan, const AttemptFiles& files,
                   const ProcessEnd& end, const CrashedProcessEnd& crash, OnDone done);
  // Ends what gathers: `done` is then called soon.
  void stop();

  // How large a core the process may leave in its directory.
  std::uint64_t allow_core_in(const std::string& directory);
  void process_ended(const ProcessEnd& end) { cores_.ended(end.containment_id); }
  // An attempt of the case is reported with this evidence: the core of an earlier one is not needed.
  void keep(const std::string& case_id, const EvidenceInfo& evidence) {
    cores_.keep(setup_.run_dir, case_id, evidence.core);
  }

  // The process has ended by a crash, and its core is looked at, or was.
  bool crashed() const { return crashed_; }
  const EvidenceInfo& found() const { return found_; }

 private:
  void name_file(const AttemptCase& blamed);
  void take(Gathered gathered, Clock::time_point began);

  boost::asio::io_context& io_;
  Containment& containment_;
  const AttemptSetup& setup_;
  const RunFiles& files_;
  CoreFiles& cores_;
  std::shared_ptr<ContainedProcess> process_;  // that gathers, while it runs
  EvidenceInfo found_;
  bool crashed_ = false;
  Alive alive_;
};

}  // namespace proctor
