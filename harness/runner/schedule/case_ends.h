// The ends of cases. GroupVerdicts converts the attempts of a running group to verdicts of its cases. CaseEnds
// announces the end of each case as an event.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/runner/attempt/case_group.h"
#include "harness/runner/schedule/group_processes.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/runner/schedule/run_stage.h"

namespace proctor {

// Announces the end of each case once: it applies the known-failure list to the verdict and sends CaseEnded. The other
// parts of a run call it.
class CaseEnds {
 public:
  // Called after each announced case.
  using OnEnd = std::function<void(std::size_t index, const CaseEnded&)>;
  CaseEnds(const RunSetup& setup, EventSink& sink) : setup_(setup), sink_(sink) {}
  void listen(OnEnd on_end) { on_end_ = std::move(on_end); }

  // Announces this case when `parts` parts of it have ended. Its verdict is that of its first bad part, if there was
  // one.
  void expect(std::size_t index, std::size_t parts) { parts_[index].left = parts; }
  // Sends an event about a case before its end.
  void note(const Event& event) { sink_.on(event); }
  void announce(const CaseGroup::Finished& finished);
  void announce(const std::vector<CaseGroup::Finished>& cases);
  std::optional<KnownVerdict> known_failure(
      std::size_t index, const std::vector<std::string>& devices,
      // Returns the entry of the list that matches this verdict, and the verdict
      // after it.
      const Verdict& verdict) const;

 private:
  struct Parts {
    std::size_t left = 0;
    std::optional<CaseGroup::Finished> so_far = {};
  };

  // Adds a part. Returns the result of the whole case after its last part.
  std::optional<CaseGroup::Finished> whole(const CaseGroup::Finished& part);
  void report_value(const CaseGroup::Finished& finished);

  const RunSetup& setup_;
  EventSink& sink_;
  OnEnd on_end_;
  std::map<std::size_t, Parts> parts_;  // by index of the case
};

// Cases that began in a process but whose ends in it do not count.
struct Unproven {
  std::set<std::size_t> cases{};
  bool may_share = false;  // these cases may share a process again
};

// Converts the attempts of a running group to results of its cases. A bad verdict waits until the devices have been
// examined, because an unhealthy device could cause it. The result of the case in which a process ended waits for the
// end of that process. RunningGroup calls it.
class GroupVerdicts {
 public:
  GroupVerdicts(const RunSetup& setup, const RunStage& stage, CaseEnds& ends, CaseGroup& group,
                const GroupDevices& devices)
      : setup_(setup), stage_(stage), ends_(ends), group_(group), devices_(devices) {}

  // `which` is an index into the cases of the process. `expected` means that the known-failure list contains the
  // failure. `went_on` is described in RunningAttempt::OnCaseEnded. A `provisional` result waits for the end of the
  // process.
  void attempt_ended(std::size_t which, const AttemptEnded& ended, bool expected, bool went_on,
                     bool provisional = false);
  // Call this when the devices have been examined. These attempts are repeated without a retry: bad attempts on an
  // unhealthy device; bad attempts in a shared process that lost a device, except the attempt that lost it; and the
  // `unproven` attempts.
  void settle(const DeviceAdmission::Left& left, const Unproven& unproven = {});
  // Call this after settle(). Announces the result that waited for the end of the process.
  void process_ended();

  // Returns the index of the case in which the process ended, or of its first case.
  std::size_t last_case() const { return group_.case_of(last_.value_or(0)); }

 private:
  struct Unsettled {
    std::size_t which;
    Verdict verdict;
    Marks marks;
    bool expected;
    int attempt;
    int repeat;
    bool is_caused_by_device;  // the failure is an error of the device
    bool last;                 // the case must not start again
  };

  // Returns the attempt that lost the device, or nothing if that is not known.
  std::optional<std::size_t> loser(const DeviceAdmission::Left& left) const;
  // Invalidates the attempt if its device is at fault and the case may be repeated. Returns true then. Otherwise `note`
  // may receive the reason.
  bool is_invalid(const Unsettled& ended, const DeviceAdmission::Left& left, std::string& note);
  void take(const Unsettled& ended, const std::string& note = {});
  void report_suspect(const CaseGroup::Finished& finished) const;

  const RunSetup& setup_;
  const RunStage& stage_;
  CaseEnds& ends_;
  CaseGroup& group_;
  const GroupDevices& devices_;
  std::vector<Unsettled> unsettled_;
  std::optional<std::size_t> last_;          // the case in which the process ended: an index into its cases
  std::optional<CaseGroup::Finished> held_;  // the result of this case, which waits
};

}  // namespace proctor
