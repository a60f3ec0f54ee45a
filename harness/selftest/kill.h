// Judges whether a case under one injected fault proves that its check can fail. The judgement is a pure function of
// FaultedCase.
//
//   the fault did not fire                            vacuous
//   it fired only in the check's setup                vacuous (the check had not begun)
//   outcome fail, an assertion with the check's rule  killed, if the fault fired before the assertion failed
//   expects hang    timeout, stall                    killed
//   expects lost    device_lost, fail(device_lost…)   killed
//   expects abort   crash                             killed
//   expects mismatch  error(mask_mismatch)            killed
//   outcome pass                                      survived
//   anything else                                     not killed: error, crash, timeout, stall, device_lost
//                                                     and skip show a problem, but not that the check found it
//
// A check's setup ends with its first step. A check without steps has no setup.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"

namespace proctor {

// A record of the simulator's fault log (PROCTOR_SIM_LOG). The log has one line of JSON per fired fault. The process in
// which the fault fires appends the line with one write.

struct Firing {
  std::string fault;      // "memory.corrupt_copy"
  std::int64_t t_ns = 0;  // CLOCK_MONOTONIC
};

// Parses a fault log. An invalid line is an error, because it would hide a firing. If a process is killed during its
// write, the last line is cut off and has no newline; that is not an error.
Result<std::vector<Firing>> parse_fault_log(std::string_view text);

// Reads a fault log. If the file does not exist, no fault fired and the log is empty.
Result<std::vector<Firing>> read_fault_log(const std::string& path);

// All inputs of the judgement.
struct FaultedCase {
  std::string fault;    // name without parameters: "memory.corrupt_copy"
  std::string rule;     // rule of the check
  std::string expects;  // "", "hang", "lost", "abort" or "mismatch"
  Verdict verdict;
  std::vector<Failure> failures;
  std::int64_t set_up_ns = 0;         // end of the setup; 0: the check never began
  std::int64_t first_failure_ns = 0;  // 0: unknown
  std::vector<Firing> firings;
};

struct KillResult {
  bool fired = false;  // true if the fault fired after the setup
  bool killed = false;
  std::string message;  // the check's message, or why the case does not count
};

KillResult judge_kill(const FaultedCase& run);

}  // namespace proctor
