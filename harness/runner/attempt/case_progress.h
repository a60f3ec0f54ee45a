// What follows an attempt, and the verdict that a case's attempts give together. Pure logic: no clock, no
// process.
//
// A repeat ends with its first good attempt, or when its retries are used up; its verdict is that of its last
// attempt. The case's verdict is the first bad one of its repeats, else that of the last repeat. Marks:
// `flaky`: some attempt was bad and another one was not; `device_suspect` instead: all bad ones were on the
// same devices, and all good ones on others, or a device was found unhealthy after an attempt. Such an attempt
// counts for nothing: neither as a retry nor as bad.
//
// What an attempt beside other cases in a process says is not the last word, and costs no retry. A bad one is followed by
// one alone: if that is good, the case is `flaky`. A good one is, where it is to be verified: if that is bad, the case is
// fail(order). What the attempt alone cannot say, because the run ends, the one before it says.
//
// If other cases ran before such a `flaky` case, up to two more attempts follow: one alone and, if it is good, one after
// the same cases. If the latter is bad, the case is also `order_dependent`. These attempts change nothing else.
//
// The stage of a case decides what its next attempt means (action_of()):
//
//   stage       good      skip      bad        bad, expected  cut short
//   counting    count     count     count      count          count
//   verifying   count     count     order      count          believe    after a good attempt beside others
//   confirming  flaky     flaky     again      again          believe    after a bad one
//   proving     go on     go on     end        end            end        the proof alone
//   ordering    end       end       dependent  dependent      end        the proof after the same cases
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/journal/event_words.h"
#include "harness/journal/outcome.h"

namespace proctor {

struct RepeatPolicy {
  int retries = 0;
  int repeat = 1;
  bool until_fail = false;  // the first bad repeat is the last one, also if it was bad only beside others
  int first_repeat = 1;     // the number of the first repeat
  bool verify = false;      // a good attempt beside others is followed by one alone
  bool confirm = true;      // a bad attempt beside others is
  bool in_turns = false;    // after each repeat others have theirs
};

class CaseProgress {
 public:
  enum class Next { kRetry, kRepeat, kDone };

  enum class Stage { kCounting, kVerifying, kConfirming, kProving, kOrdering };
  enum class Ending { kGood, kSkip, kBad, kExpected, kCutShort };
  enum class Action {
    kCount,      // its verdict counts
    kOrder,      // as fail(order)
    kFlaky,      // its verdict counts, and some attempt was bad: a proof may follow
    kAgain,      // its verdict counts, and the attempt beside others was bad too
    kBelieve,    // the attempt beside others counts
    kGoOn,       // the next proof follows
    kDependent,  // the case depends on the order
    kEnd,        // the proof changes nothing
  };
  static Action action_of(Stage stage, Ending ending);
  static Ending ending_of(const Verdict& verdict, bool expected);
  Stage stage() const { return stage_; }

  explicit CaseProgress(RepeatPolicy policy) : policy_(policy), repeat_(policy.first_repeat) {}

  // Takes the verdict of the attempt numbered attempt()/repeat() and moves on. `expected`: the bad verdict is
  // a known failure, so trying again would prove nothing. `where`: the devices that the attempt had.
  Next add(const Verdict& verdict, const Marks& marks, bool expected,
           const std::vector<std::string>& where = {});

  // Takes the verdict of an attempt beside others in its process instead. The next one, alone, has the last word.
  // `behind_others`: other cases ran before it.
  void doubt(const Verdict& verdict, const std::vector<std::string>& where = {}, bool behind_others = false);
  // It had these marks.
  void keep_marks(const Marks& marks);
  // There will be no such attempt: that beside others has the last word.
  Next believe();
  // The next one is in place of a good one beside others, after which a device failed in the process.
  void taint();

  // The attempt says nothing about the case: its device was found unhealthy after it. The next one is in its place.
  void discount();
  bool wants_verification() const { return policy_.verify; }
  bool wants_confirmation() const { return policy_.confirm; }

  // The attempt counts for nothing, and the next one, in its place, is alone in its process.
  void disbelieve();
  // The same, but the first such attempt of a repeat is followed by one that may share a process.
  void repeat_shared();
  // The verdict is final. The next attempt only shows whether the case depends on other cases, ...
  bool is_proving() const { return stage_ == Stage::kProving || stage_ == Stage::kOrdering; }
  // ... and runs after the cases that ran before it when it was bad.
  bool wants_same_order() const { return stage_ == Stage::kOrdering; }
  // Whether no other case may be in its process.
  bool is_alone() const { return attempt_ > last_shared_; }
  bool is_shared_again() const { return attempt_ > 1 && attempt_ == last_shared_; }
  void stand_alone() { last_shared_ = 0; }

  int attempt() const { return attempt_; }
  // How many of the present repeat count, with the one that comes next.
  int counted_attempts() const { return attempt_ - discounted_; }
  // Whether some attempt, of any repeat, was discounted.
  bool has_suspect() const { return suspect_; }
  int repeat() const { return repeat_; }
  bool takes_turns() const { return policy_.in_turns; }
  bool has_whole_repeat() const { return repeat_ > policy_.first_repeat; }
  // No attempt counts yet, and none waits for another one.
  bool has_nothing() const {
    return !has_whole_repeat() && counted_attempts() == 1 && stage_ == Stage::kCounting;
  }
  // A repeat has ended, and the next one has not begun.
  bool is_between_repeats() const { return has_whole_repeat() && attempt_ == 1; }
  const Verdict& verdict() const {
    const bool waits = stage_ == Stage::kVerifying || stage_ == Stage::kConfirming;
    return waits && !decided_ ? beside_.verdict : verdict_;
  }
  // The devices of the attempt that gave the verdict.
  const std::vector<std::string>& devices() const { return devices_; }
  Marks marks() const;

 private:
  // An attempt beside others, which the next one verifies or confirms.
  struct Beside {
    Verdict verdict;
    bool behind_others = false;
  };

  Next count(const Verdict& verdict, const Marks& marks, bool expected,
             const std::vector<std::string>& where);

  Next begin_proof(Stage proof);

  RepeatPolicy policy_;
  int attempt_ = 1;
  int discounted_ = 0;  // of the present repeat
  bool suspect_ = false;
  int last_shared_ = 1;  // the number of the last attempt that may share a process
  int repeat_;
  bool decided_ = false;     // a repeat was bad: the verdict stands
  bool bad_beside_ = false;  // the present repeat was, beside others
  Stage stage_ = Stage::kCounting;
  Beside beside_{};  // of the stages verifying and confirming
  std::set<std::vector<std::string>> good_on_;
  std::set<std::vector<std::string>> bad_on_;
  Verdict verdict_;
  std::vector<std::string> devices_;
  Marks marks_;
};

}  // namespace proctor
