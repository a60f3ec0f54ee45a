// GroupVerdicts makes the verdicts of the cases of a group from its attempts. CaseEnds announces the end of each case.
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

// Says the final word on each case, once: applies the known-failure list to its verdict and sends the event.
class CaseEnds {
 public:
  // Called after each one.
  using OnEnd = std::function<void(std::size_t index, const CaseEnded&)>;
  CaseEnds(const RunSetup& setup, EventSink& sink) : setup_(setup), sink_(sink) {}
  void listen(OnEnd on_end) { on_end_ = std::move(on_end); }

  // The case is announced when all of its parts have ended: with the first bad verdict among them.
  void expect(std::size_t index, std::size_t parts) { parts_[index].left = parts; }
  // What is reported of a case before its end.
  void note(const Event& event) { sink_.on(event); }
  void announce(const CaseGroup::Finished& finished);
  void announce(const std::vector<CaseGroup::Finished>& cases);
  std::optional<KnownVerdict> known_failure(std::size_t index, const std::vector<std::string>& devices,
                                            const Verdict& verdict) const;

 private:
  struct Parts {
    std::size_t left = 0;
    std::optional<CaseGroup::Finished> so_far = {};
  };

  std::optional<CaseGroup::Finished> whole(const CaseGroup::Finished& part);
  void report_value(const CaseGroup::Finished& finished);

  const RunSetup& setup_;
  EventSink& sink_;
  OnEnd on_end_;
  std::map<std::size_t, Parts> parts_;  // by case
};

// The cases of a process whose ends do not count, of those that began.
struct Unproven {
  std::set<std::size_t> cases{};
  bool may_share = false;  // a process, once more
};

// What the attempts of a running group come to for its cases. The verdict of a bad attempt waits until its devices have
// been looked at, because a sick one would answer for it; the final word on the case in which a process ended waits for
// the end of that process.
class GroupVerdicts {
 public:
  GroupVerdicts(const RunSetup& setup, const RunStage& stage, CaseEnds& ends, CaseGroup& group,
                const GroupDevices& devices)
      : setup_(setup), stage_(stage), ends_(ends), group_(group), devices_(devices) {}

  // `which`: of the cases of its process. `expected`: the known-failure list has it. `went_on` as in
  // RunningAttempt::OnCaseEnded. `provisional`: it waits for the end of its process.
  void attempt_ended(std::size_t which, const AttemptEnded& ended, bool expected, bool went_on,
                     bool provisional = false);
  // Call this when its devices have been examined. These attempts are repeated, and cost no retry: bad ones on a sick
  // device; bad ones in a shared process that lost a device, except the one that lost it; the `unproven` ones.
  void settle(const DeviceAdmission::Left& left, const Unproven& unproven = {});
  // Call this after settle(): says the final word that waited.
  void process_ended();

  // The case in which the process ended, or its first one, by index.
  std::size_t last_case() const { return group_.case_of(last_.value_or(0)); }

 private:
  struct Unsettled {
    std::size_t which;
    Verdict verdict;
    Marks marks;
    bool expected;
    int attempt;
    int repeat;
    bool is_caused_by_device;  // its failure is an error of its device
    bool last;                 // the case must not start again
  };

  // The attempt that lost the device; none: not known.
  std::optional<std::size_t> loser(const DeviceAdmission::Left& left) const;
  // Makes the attempt invalid if it is. If it counts, `note` may get the reason.
  bool is_invalid(const Unsettled& ended, const DeviceAdmission::Left& left, std::string& note);
  void take(const Unsettled& ended, const std::string& note = {});
  void report_suspect(const CaseGroup::Finished& finished) const;

  const RunSetup& setup_;
  const RunStage& stage_;
  CaseEnds& ends_;
  CaseGroup& group_;
  const GroupDevices& devices_;
  std::vector<Unsettled> unsettled_;
  std::optional<std::size_t> last_;          // of the cases of the process, that in which it ended
  std::optional<CaseGroup::Finished> held_;  // the final word on it
};

}  // namespace proctor
