// The Python stacks of a running process, read from outside: nothing is injected, nothing is stopped, no
// signal is sent, and a GIL that is held by a blocked call does not matter.
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/process_facts.h"
#include "harness/evidence/stack_frame.h"

namespace proctor {

struct PythonStacks {
  bool is_python = false;
  std::string version;               // "3.11.2", "" when unknown
  std::string problem;               // why there are no stacks, in a few words
  std::vector<ThreadStack> threads;  // the main thread first
};

PythonStacks read_python_stacks(const ProcessFacts& process);

// The line of the instruction at `offset` (bytes), from the location table of CPython 3.11 and later; 0 if
// there is none. Source: CPython, Objects/locations.md of 3.11 (InternalDocs/code_objects.md of 3.13).
int python_line(const std::string& location_table, int first_line, std::uint64_t offset);

}  // namespace proctor
