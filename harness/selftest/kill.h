// Whether a case that ran under one injected fault has proven that its check can fail: a pure function.
//
//   the fault did not fire                            vacuous
//   it fired only in the check's set-up               vacuous (the check had not begun to look)
//   outcome fail, an assertion with the check's rule  killed, if the fault fired before the assertion failed
//   expects hang    timeout, stall                    killed
//   expects lost    device_lost, fail(device_lost…)   killed
//   expects abort   crash                             killed
//   expects mismatch  error(mask_mismatch)            killed
//   outcome pass                                      survived
//   anything else                                     not killed: error, crash, timeout, stall, device_lost
//                                                     and skip show that something is wrong, but not what
//
// A check's set-up ends with its first step; a check without steps has none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"

namespace proctor {

// What the simulator logged: one line of JSON per fault that fired (PROCTOR_SIM_LOG), appended with one write
// by whichever process of a case it fired in.

struct Firing {
  std::string fault;      // "memory.corrupt_copy"
  std::int64_t t_ns = 0;  // CLOCK_MONOTONIC
};

// A line that is no record is an error: it would hide a firing. The last line may be cut off, by a process
// that was killed in the middle of its write; it has no newline then.
Result<std::vector<Firing>> parse_fault_log(std::string_view text);

// A file that does not exist is an empty log: nothing fired.
Result<std::vector<Firing>> read_fault_log(const std::string& path);

// Everything that the judgement depends on.
struct FaultedCase {
  std::string fault;    // the name alone: "memory.corrupt_copy"
  std::string rule;     // of the check
  std::string expects;  // "", "hang", "lost", "abort" or "mismatch"
  Verdict verdict;
  std::vector<Failure> failures;
  std::int64_t set_up_ns = 0;         // end of the set-up; 0: the check never began
  std::int64_t first_failure_ns = 0;  // 0: not known
  std::vector<Firing> firings;
};

struct KillResult {
  bool fired = false;  // after the set-up
  bool killed = false;
  std::string message;  // the check's message, or why it does not count
};

KillResult judge_kill(const FaultedCase& run);

}  // namespace proctor
