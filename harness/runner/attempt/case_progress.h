// CaseProgress counts the attempts of one case: it determines the next attempt, the verdict and the marks. It has no clock
// and starts no process.
//
// A repeat ends with its first good attempt, or when it has no retry left. The verdict of a repeat is that of its last
// attempt. The verdict of the case is that of its first bad repeat, otherwise that of the last repeat. If some attempts were
// bad and others good, the case has a mark: `device_suspect` if the bad ones had one set of devices and the good ones
// others, otherwise `flaky`. An invalid attempt does not count as bad and costs no retry. The case runs again instead.
//
// An attempt in a shared process costs no retry either. A bad one is confirmed: the case runs again alone, and is `flaky` if
// that attempt is good. A good one is held until the end of its process. Then the case accepts it or verifies it: it runs
// again alone, and the verdict is fail(fails_alone) if that attempt is bad. If the run ends first, the held attempt counts.
//
// If other cases ran before such a `flaky` case, up to two attempts follow: one alone and, if it is good, one after the same
// cases. If the latter is bad, the case is `order_dependent`. The verdict is final before these attempts.
//
// transition_of() is the table of the stages. A dash marks an impossible pair, which throws std::bad_optional_access.
//
//   stage       good   bad        expected   cut short  good shared  bad shared  verify  accept  invalid
//   counting    count  count      count      count      hold         confirm     -       -       repeat
//   held        -      -          -          -          -            -           verify  accept  repeat
//   verifying   count  order      count      accept     -            -           -       accept  repeat
//   confirming  flaky  confirmed  confirmed  accept     -            -           -       -       repeat
//   proving     go on  end        end        end        -            -           -       -       repeat
//   ordering    end    dependent  dependent  end        -            -           -       -       repeat
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/journal/event_words.h"
#include "harness/journal/outcome.h"

namespace proctor {

// The rules by which one case repeats.
struct RepeatPolicy {
  int retries = 0;
  int repeat = 1;
  bool until_fail =
      false;              // the first bad repeat is the last one, even if it was bad only in a shared process
  int first_repeat = 1;   // the number of the first repeat
  bool verify = false;    // a good attempt in a shared process is verified
  bool confirm = true;    // a bad attempt in a shared process is confirmed
  bool in_turns = false;  // no case begins a repeat before all cases have ended the previous one
};

// The attempts of one case. CaseGroup has one for each of its cases.
class CaseProgress {
 public:
  enum class Next { kRetry, kRepeat, kDone };

  enum class Stage {
    kCounting,
    kHeld,        // a good attempt in a shared process waits for the end of the process
    kVerifying,   // the next attempt, alone, verifies the held one
    kConfirming,  // the next attempt, alone, confirms a bad one in a shared process
    kProving,     // the next attempt runs alone, and only shows whether the case is flaky alone
    kOrdering,    // the next attempt runs after the same cases as the bad one
  };
  enum class Event { kGood, kBad, kExpected, kCutShort, kGoodShared, kBadShared, kVerify, kAccept, kInvalid };
  enum class Action {
    kCount,      // the attempt counts
    kOrder,      // it counts as fail(fails_alone)
    kFlaky,      // it counts, and a proof follows if other cases ran before the bad attempt
    kConfirmed,  // it counts, and the attempt in the shared process was bad too
    kHold,       // the attempt waits
    kConfirm,    // it waits for the next attempt
    kAccept,     // the attempt that waits counts
    kRepeat,     // another attempt follows, and this one does not count
    kDependent,  // the case depends on the order
    kEnd,        // the proof has no result
  };
  struct Transition {
    Action action;
    Stage next;
  };
  // The reason why an attempt is invalid.
  enum class Invalid {
    kDeviceUnhealthy,  // its device was unhealthy after the attempt
    kDeviceFailed,     // after a good attempt, a device failed in the process
    kUnreliable,       // the report of its process may be wrong
    kNoResult,  // another case ended its process: for the first time, the next attempt may share a process
  };

  // Returns nothing for an impossible pair.
  static std::optional<Transition> transition_of(Stage stage, Event event);
  static Event event_of(const Verdict& verdict, bool expected);
  Stage stage() const { return stage_; }

  explicit CaseProgress(RepeatPolicy policy) : policy_(policy), repeat_(policy.first_repeat) {}

  // Adds the attempt numbered attempt()/repeat(). `expected` means that the bad verdict is a known failure, so a retry
  // would prove nothing. `where` has the devices of the attempt.
  Next add(const Verdict& verdict, const Marks& marks, bool expected,
           const std::vector<std::string>& where = {});
  // Adds an attempt in a shared process. `behind_others` means that other cases ran before it.
  void add_shared(const Verdict& verdict, const Marks& marks = {}, const std::vector<std::string>& where = {},
                  bool behind_others = false);
  void verify() { apply(Event::kVerify, {.marks = held_.marks}); }
  Next accept() { return apply(Event::kAccept, {}); }
  void invalidate(Invalid why);

  bool needs_verification() const { return policy_.verify; }
  bool needs_confirmation() const { return policy_.confirm; }
  // The verdict is final, and the next attempt only proves an influence of other cases.
  bool is_proving() const { return stage_ == Stage::kProving || stage_ == Stage::kOrdering; }
  // Returns whether no other case may be in its process.
  bool is_alone() const { return attempt_ > last_shared_; }
  bool is_shared_again() const { return attempt_ > 1 && attempt_ == last_shared_; }
  void stand_alone() { last_shared_ = 0; }

  int attempt() const { return attempt_; }
  // Returns the number of valid attempts of the current repeat, including the next one.
  int counted_attempts() const { return attempt_ - not_counted_; }
  // Returns whether a device was unhealthy after an attempt of any repeat.
  bool has_suspect() const { return suspect_; }
  int repeat() const { return repeat_; }
  bool takes_turns() const { return policy_.in_turns; }
  bool has_whole_repeat() const { return repeat_ > policy_.first_repeat; }
  // Returns whether no attempt counts yet and no other attempt has to follow.
  bool has_nothing() const {
    return !has_whole_repeat() && counted_attempts() == 1 &&
           (stage_ == Stage::kCounting || stage_ == Stage::kHeld);
  }
  // Returns whether a repeat has ended and the next one has not begun.
  bool is_between_repeats() const {
    return has_whole_repeat() && attempt_ == 1 && stage_ == Stage::kCounting;
  }
  const Verdict& verdict() const { return shows_held() ? held_.verdict : verdict_; }
  // Returns the devices of the attempt that has the verdict.
  const std::vector<std::string>& devices() const { return shows_held() ? held_.where : devices_; }
  Marks marks() const;

 private:
  struct Attempt {
    Verdict verdict{};
    Marks marks{};
    std::vector<std::string> where{};
    bool expected = false;
    bool behind_others = false;
  };

  Next apply(Event event, const Attempt& attempt);
  Next count(const Attempt& attempt);
  Next try_again();
  void keep_marks(const Marks& marks);
  bool shows_held() const { return !decided_ && stage_ != Stage::kCounting && !is_proving(); }

  RepeatPolicy policy_;
  int attempt_ = 1;
  int not_counted_ = 0;  // of the current repeat
  bool suspect_ = false;
  int last_shared_ = 1;  // the number of the last attempt that may share a process
  int repeat_;
  bool decided_ = false;     // a repeat was bad: the verdict is final
  bool bad_shared_ = false;  // the current repeat was bad in a shared process
  Stage stage_ = Stage::kCounting;
  Attempt held_{};  // the last attempt in a shared process
  std::set<std::vector<std::string>> good_on_;
  std::set<std::vector<std::string>> bad_on_;
  Verdict verdict_;
  std::vector<std::string> devices_;
  Marks marks_;
};

}  // namespace proctor
