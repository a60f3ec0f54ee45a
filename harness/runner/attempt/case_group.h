// The cases that may share processes and devices. Most groups have one case. A CaseGroup selects the cases of the next
// process, and determines the results of cases that did not begin when a process ends. It has no clock and starts no
// process. CaseProgress has the stage of each case. RunningGroup uses it.
//
// A process has all cases except those that run again: each of these runs alone. If another case ended the process
// before a case had a result, this case shares one more process with such cases. Thus each case begins in at most two
// shared processes. If a process ends before any case begins, its cases get one more process. Thus a program that
// cannot start is not started for each case. If cases take turns, no case begins a repeat before all have ended the
// previous one. From its third attempt on, a case gets devices that the group has not used, if there are any: avoids().
//
// Held passes wait for the end of their process, and then until no case is being verified. If a device fails in the
// process, or the process is unreliable, all held passes run again. If a verified case is bad, all others are verified
// too:
//
//   verification  bad verification  process ends, cases verify  process ends, no case verifies
//   sample        failed            sample                      sample
//   failed        -                 all                         all
//   all           failed            all                         sample
//
// Proofs are last. A proof repeats the order of an earlier process in which a case was bad that is good alone. The
// results of the other cases in this process do not count.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/runner/attempt/case_progress.h"

namespace proctor {

// The end of a process, for its cases that did not begin.
enum class ProcessFate {
  kDiedInCase,  // a case that began ended it: the others can run in another process
  kNeverBegan,  // it ended before any case began
  kEnded,       // it ended by itself, or Proctor stopped it
};

class CaseGroup {
 public:
  using Invalid = CaseProgress::Invalid;

  // A case in a process. `index` is its index in the plan.
  struct Execution {
    std::size_t index;
    int attempt;
    int repeat;
    bool silent = false;  // it runs only to restore the state for later cases
  };
  // The end of a case.
  struct Finished {
    std::size_t index;
    Verdict verdict;
    Marks marks;
    std::string note;
    std::vector<std::string> devices = {};  // the devices of the attempt that has the verdict
  };

  // The result of cases that will not begin.
  struct NoMore {
    Verdict verdict;
    std::string note;
    bool keeps = false;  // a case with a complete repeat keeps its verdict
  };

  enum class Verification {
    kSample,  // the cases whose policy requires it, while there is time
    kFailed,  // a verified case was bad in the current process
    kAll,     // each case that passed before it, without a limit of time
  };
  enum class VerificationEvent { kBad, kProcessEnded, kLastEnded };
  // Returns nothing for an impossible pair. The caller then throws std::bad_optional_access.
  static std::optional<Verification> verification_after(Verification before, VerificationEvent event);
  Verification verification() const { return verification_; }

  void add(std::size_t index, RepeatPolicy policy) { members_.emplace(index, Member{CaseProgress(policy)}); }
  bool empty() const { return members_.empty(); }
  std::size_t first() const { return members_.begin()->first; }

  // Moves the first `count` cases to another group. More than `count` must exist, and no case may have run.
  CaseGroup split(std::size_t count);
  // Returns whether some of its cases have run in a process.
  bool begun() const { return kind_ != ProcessKind::kNone; }
  std::size_t size() const { return members_.size(); }

  // The cases of the next process, in order.
  const std::vector<Execution>& next_process();
  std::size_t case_of(std::size_t which) const { return (*process_)[which].index; }
  bool is_shared() const { return process_ && process_->size() > 1; }
  bool is_silent(std::size_t which) const { return (*process_)[which].silent; }
  // Returns whether a case that is not in the current process can still begin.
  bool has_more() const;
  // Returns whether only proofs remain. No other group may run then, because its effect could resemble the effect of
  // the order.
  bool only_proves() const;

  // The devices that each process of the group gets; empty: any devices.
  const std::set<std::string>& pinned_to() const { return pinned_to_; }
  void pin_to(std::set<std::string> devices) { pinned_to_ = std::move(devices); }
  // Returns whether the next process should have other devices than the last one had.
  bool needs_other_devices() const;
  const std::set<std::string>& avoids() const { return avoids_; }
  void avoid(const std::vector<std::string>& devices) { avoids_.insert(devices.begin(), devices.end()); }

  // Call this when an attempt of the `which`-th case of the process has ended. Returns the end of the case if this was
  // its last attempt. CaseProgress::add() describes `expected` and `where`. `last` means that the case does not run
  // again.
  std::optional<Finished> attempt_ended(std::size_t which, const Verdict& verdict, const Marks& marks,
                                        bool expected, bool last, const std::vector<std::string>& where = {});
  // Call this instead if the attempt is invalid: the case runs again.
  void invalidate(std::size_t which, Invalid why) { progress_of(which).invalidate(why); }
  // Makes all held passes invalid.
  void invalidate_passes(Invalid why);
  // Makes each later process run one case.
  void stand_alone();
  // Returns whether a device of the case was unhealthy after it. If a second device, healthy before, is unhealthy too,
  // the case is the cause. It must not get a third device.
  bool has_suspect(std::size_t which) const { return progress_of(which).has_suspect(); }
  // Returns whether any case has a suspect. The devices of the next process must then be examined first.
  bool has_suspect() const;
  // Ends the case, even if retries remain. The case must not have ended before.
  Finished end_now(std::size_t which);
  // Call this when the process has ended. `not_begun` has the cases of the process that did not begin. If `no_more` is
  // set, no more cases begin. If `may_verify` is false, cases that would verify their passes accept them. Returns the
  // cases that end with the process. The other cases need another process.
  std::vector<Finished> process_ended(ProcessFate fate, const std::vector<std::size_t>& not_begun,
                                      const std::optional<NoMore>& no_more, bool may_verify = true);
  // Returns whether the process runs a case alone to verify its pass.
  bool is_verification() const;
  // Returns whether all cases take turns and have ended the same repeat.
  bool is_turn_over() const;
  // Ends all remaining cases.
  std::vector<Finished> give_up(const NoMore& why);

 private:
  using Executions = std::vector<Execution>;
  using Stage = CaseProgress::Stage;
  enum class ProcessKind { kNone, kOrdinary, kRepeatedOrder };

  struct Member {
    CaseProgress progress;
    // The shared process in which the case was bad last, and its position in this process.
    std::shared_ptr<const Executions> order{};
    std::size_t position = 0;
  };
  using Members = std::map<std::size_t, Member>;  // by index, thus in the order of the plan

  CaseProgress& progress_of(std::size_t which) { return members_.at(case_of(which)).progress; }
  const CaseProgress& progress_of(std::size_t which) const { return members_.at(case_of(which)).progress; }
  const Execution* execution_of(std::size_t index) const;
  bool any_verifies() const;
  Executions ordinary_process() const;
  Executions repeated_order() const;
  void verify_passes();
  Finished end(Members::iterator member, const std::string& note = {});
  std::vector<Finished> accept(Stage stage);
  std::vector<Finished> end_not_begun(ProcessFate fate, const std::vector<std::size_t>& not_begun,
                                      const std::optional<NoMore>& no_more);
  template <typename Predicate>
  std::vector<Finished> drop(const NoMore& why, Predicate predicate);
  int next_repeat() const;

  Members members_;  // the cases whose last attempt has not ended
  ProcessKind kind_ = ProcessKind::kNone;
  std::shared_ptr<const Executions> process_;  // the current process, or the last one
  Verification verification_ = Verification::kSample;
  std::set<std::string> pinned_to_;
  std::set<std::string> avoids_;
  int never_began_ = 0;  // processes in a row that ended before any of their cases began
};

}  // namespace proctor
