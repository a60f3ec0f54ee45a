// Cases that may share a process and its devices; mostly there is only one. Decides which of them the next
// process runs, and what the end of a process means for those that never began in it. Pure logic: no clock,
// no process.
//
// A process takes all cases except those that are tried again; each of those runs alone. Cases without a result, because
// another one ended their process, share one once more, without the cases that did not begin: so each case begins in two
// shared processes at most. If a process ended
// before any case began, the other cases get one more process. So a program that cannot start is not tried
// once for each of its cases. Of cases that take turns, none begins a repeat before all have ended the one before it.
//
// What a case did beside others in a process is confirmed before it is the last word. A bad attempt is followed by one
// alone. Good ones wait for the end of their process: after a device has failed, or if the process is unreliable, all of them
// run again; and if one that is verified alone is bad, all others of its process run alone.
// Last come the proofs: a process repeats the order in which a case failed that passes alone. The other cases in it are in
// no event.
//
// The second attempt of a case is on the same devices as the first. From the third attempt on, each is on
// devices that the group has not had, as long as there are any: avoids(). Attempts on devices that were found
// sick do not count.
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

// What the end of a process means for those of its cases that never began.
enum class ProcessFate {
  kDiedInCase,  // a case that began ended it: the others can go on in another process
  kNeverBegan,  // it ended before any case began
  kEnded,       // it ended by itself, or because it was told to
};

class CaseGroup {
 public:
  // A case as the next process runs it. `index` is its index in the plan.
  struct Turn {
    std::size_t index;
    int attempt;
    int repeat;
    bool silent = false;  // it runs only to restore the state for later cases
  };
  // The final word on a case.
  struct Finished {
    std::size_t index;
    Verdict verdict;
    Marks marks;
    std::string note;
    std::vector<std::string> devices = {};  // those of the attempt that gave the verdict
  };

  // Why cases that have not begun never will.
  struct NoMore {
    Verdict verdict;
    std::string note;
    bool keeps = false;  // what a case with a whole repeat has come to stands
  };

  void add(std::size_t index, RepeatPolicy policy) { members_.emplace(index, CaseProgress(policy)); }
  bool empty() const { return members_.empty(); }
  std::size_t first() const { return members_.begin()->first; }

  // Takes the first `count` cases, of more, into a group of their own. None of them has been in a process.
  CaseGroup split(std::size_t count);
  // Whether some of its cases have been in a process.
  bool begun() const { return begun_; }
  std::size_t size() const { return members_.size(); }

  // The cases of the next process, in order.
  std::vector<Turn> next_process();
  std::size_t case_of(std::size_t which) const { return in_process_[which]; }
  bool is_shared() const { return in_process_.size() > 1; }
  // Whether the `which`-th case runs only to restore the state for later cases.
  bool is_silent(std::size_t which) const { return repeated_ && !provers_.contains(in_process_[which]); }
  // Whether a case that does not run now would still begin.
  bool has_more() const;
  // Whether only proofs are left (CaseProgress::is_proving). Nothing else of the run may run beside them: what other
  // processes do must not look like the order of the cases.
  bool only_proves() const;

  // The devices that every process of the group gets; empty if they may be any.
  const std::set<std::string>& pinned_to() const { return pinned_to_; }
  void pin_to(std::set<std::string> devices) { pinned_to_ = std::move(devices); }
  // Whether the next process should have other devices than the last one had.
  bool wants_other_devices() const;
  const std::set<std::string>& avoids() const { return avoids_; }
  void avoid(const std::vector<std::string>& devices) { avoids_.insert(devices.begin(), devices.end()); }

  // Call this when an attempt of the `which`-th case of the process has ended. Returns the case's end, if
  // this was its last attempt. `expected` and `where` as in CaseProgress::add; `last`: nothing is tried
  // again.
  std::optional<Finished> attempt_ended(std::size_t which, const Verdict& verdict, const Marks& marks,
                                        bool expected, bool last, const std::vector<std::string>& where = {});
  // Call this instead when its device was found unhealthy after the attempt: it counts for nothing, and the case
  // goes on.
  void discount(std::size_t which);
  // Call this instead when nobody can tell whether what its process said of it is so: it counts for nothing, and the
  // case runs again, alone.
  void disbelieve(std::size_t which);
  // Call this instead when another case ended its process before it had a result: it counts for nothing, and the case
  // runs again, once in a shared process and then alone.
  void repeat_shared(std::size_t which);
  // From now on each process runs one case.
  void stand_alone();
  // Whether a device of the case was found unhealthy before. A second one, which was well when the case began on it, is
  // its own doing rather than bad luck: it would ruin one device after the other.
  bool has_suspect(std::size_t which) const;
  // The same of any case that the next process runs: its devices have to be examined first.
  bool has_suspect() const;
  // A device failed in the process: what was good in it and waits for its end runs again.
  void taint();
  // The same if it left processes behind, which its policy forbids, or is unreliable (unexplained_end.h). Alone, the case
  // that caused it gets the verdict.
  void repeat_passes();
  // Ends the case, even if it had tries left. It must not have ended before.
  Finished end_now(std::size_t which);
  // Call this when the process has ended; `not_begun` of its cases never began. With `no_more`, no case begins any more. Without `may_verify`, the passes that wait for their verification count as they are. Returns the cases
  // that end with the process; the others go on in another one.
  std::vector<Finished> process_ended(ProcessFate fate, const std::vector<std::size_t>& not_begun,
                                      const std::optional<NoMore>& no_more, bool may_verify = true);
  // Whether the process runs a case alone whose pass it verifies.
  bool is_verification() const { return in_process_.size() == 1 && verified_.contains(in_process_.front()); }
  // Whether each case that takes turns has come to the end of its repeat.
  bool is_turn_over() const;
  // Ends all cases that are left.
  std::vector<Finished> give_up(const NoMore& why);

 private:
  using Members = std::map<std::size_t, CaseProgress>;  // by index, so in the order of the plan

  // A good attempt beside others, which is not the last word yet.
  struct Pass {
    Verdict verdict;
    Marks marks;
    std::vector<std::string> where;
  };

  using Order = std::shared_ptr<const std::vector<std::size_t>>;
  // Where a case was bad in a shared process.
  struct Place {
    Order process;
    std::size_t position;
  };

  std::vector<Turn> repeat_order();
  std::vector<Finished> end_proofs(bool only_of_process);
  std::optional<Finished> take(std::size_t index, const Verdict& verdict, const Marks& marks, bool expected,
                               bool last, const std::vector<std::string>& where);
  void await_confirmation(std::size_t which, const Verdict& verdict, const std::vector<std::string>& where);
  void settle_verification(std::size_t index, const Verdict& verdict);
  void verify_passes();
  std::vector<Finished> leave_unverified();
  std::vector<Finished> release_passes();
  static Finished word_on(const Members::value_type& member, const std::string& note);
  std::vector<Finished> end_not_begun(ProcessFate fate, const std::vector<std::size_t>& rest,
                                      const std::optional<NoMore>& no_more);
  std::vector<std::size_t> indices() const;
  std::vector<std::size_t> never_ran() const;
  std::vector<Finished> drop(const std::vector<std::size_t>& indices, const NoMore& why);
  static bool is_due(const CaseProgress& progress, int turn);
  int turn() const;

  Members members_;                      // the cases whose last attempt has not ended
  std::vector<std::size_t> in_process_;  // the cases of the present process, by index
  std::map<std::size_t, Pass> passes_;   // by index; their members wait
  Order order_;                          // of the present process, set when a case is bad in it
  std::map<std::size_t, Place> places_;  // by index
  bool repeated_ = false;                // the present process repeats an order, ...
  std::set<std::size_t> provers_;        // ... for these
  bool begun_ = false;
  std::set<std::size_t> verified_;  // passed beside those, and run alone now
  bool distrust_ = false;           // one of them was bad
  bool verifies_all_ = false;       // since one of them was bad
  std::set<std::string> pinned_to_;
  std::set<std::string> avoids_;
  int never_began_ = 0;  // processes in a row that ended before any of their cases began
};

}  // namespace proctor
