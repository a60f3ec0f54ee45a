// What the simulator logged: one line of JSON per fault that fired (PROCTOR_SIM_LOG), appended with one write
// by whichever process of a case it fired in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

struct Firing {
  std::string fault;      // "memory.corrupt_copy"
  std::int64_t t_ns = 0;  // CLOCK_MONOTONIC
};

// A line that is no record is an error: it would hide a firing. The last line may be cut off, by a process
// that was killed in the middle of its write; it has no newline then.
Result<std::vector<Firing>> parse_fault_log(std::string_view text);

// A file that does not exist is an empty log: nothing fired.
Result<std::vector<Firing>> read_fault_log(const std::string& path);

}  // namespace proctor
