// Gathers evidence when the process of an attempt hangs or has crashed. A separate process does the work
// (harness/process/evidence) and has a deadline. RunningAttempt uses it.
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

// Returns the crash of the process of a case. For a case with ranks it is the rank that determines the verdict, because
// the process itself is the supervisor. Returns nothing if no core is expected.
std::optional<CrashedProcessEnd> crash_of(const AttemptSetup& setup, const ProcessEnd& end,
                                          const RankReports* ranks);

class EvidenceSnapshot {
 public:
  // Called once, unless this object is destroyed before. `problem` is the reason if evidence may be incomplete, or "".
  using OnDone = std::function<void(const std::string& problem)>;

  EvidenceSnapshot(boost::asio::io_context& io, Containment& containment, const AttemptSetup& setup,
                   const RunFiles& files, CoreFiles& cores)
      : io_(io), containment_(containment), setup_(setup), files_(files), cores_(cores) {}
  ~EvidenceSnapshot();
  EvidenceSnapshot(const EvidenceSnapshot&) = delete;
  EvidenceSnapshot& operator=(const EvidenceSnapshot&) = delete;

  // Call this between a limit and its first signal. `request` has the data of the case, which is `blamed`. The work
  // started at `began`, before the request was made.
  void at_limit(const AttemptCase& blamed, Clock::time_point began, GatherRequest request, OnDone done);
  // Call this after the end of the process. `done` may be called inside this call.
  void after_crash(const AttemptCase& blamed, const AttemptPlan& plan, const AttemptFiles& files,
                   const ProcessEnd& end, const CrashedProcessEnd& crash, OnDone done);
  // Ends the gathering process. `done` is then called soon.
  void stop();

  // Returns the size of a core that the process may leave in its directory.
  std::uint64_t allow_core_in(const std::string& directory);
  void process_ended(const ProcessEnd& end) { cores_.ended(end.containment_id); }
  // An attempt of the case is reported with this evidence. The core of an earlier attempt is removed.
  void keep(const std::string& case_id, const EvidenceInfo& evidence) {
    cores_.keep(setup_.run_dir, case_id, evidence.core);
  }

  // Returns whether the process crashed and after_crash() was called.
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
  std::shared_ptr<ContainedProcess> process_;  // the gathering process, while it runs
  EvidenceInfo found_;
  bool crashed_ = false;
  Alive alive_;
};

}  // namespace proctor
