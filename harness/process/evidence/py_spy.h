// The Python stacks of a running process, as `py-spy dump` prints them. py-spy reads the memory of the process
// from outside: nothing is injected, and it also works while a blocked call holds the GIL. Version 0.4.3 reads
// CPython 3.6 to 3.15.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/process/evidence/process_facts.h"
#include "harness/process/evidence/stack_frame.h"
#include "harness/process/proc_reader.h"

namespace proctor {

struct PythonStacks {
  std::string interpreter;           // "" when the process is no Python
  std::vector<ThreadStack> threads;  // the main thread first
};

// The program or library that makes the process a Python, as it sees the path itself; "" for others.
std::string find_interpreter(ProcReader& reader, int pid);

// With --nonblocking py-spy does not pause the process, so that it leaves nothing stopped when it is killed.
// Native frames are not asked for: they need the pause, and py-spy fails if the process is in another PID
// namespace.
std::vector<std::string> py_spy_command(const std::string& tool, int pid);

// What that prints of `process`.
Result<std::vector<ThreadStack>> parse_py_spy(std::string_view text, const ProcessFacts& process);

}  // namespace proctor
