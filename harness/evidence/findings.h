// What was found out about the processes of a case before it is ended.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/evidence/process_facts.h"
#include "harness/evidence/py_spy.h"
#include "harness/evidence/stack_frame.h"

namespace proctor {

struct ProcessFinding {
  ProcessFacts facts;
  PythonStacks python;
  std::string cgroup;               // its figures, one a line
  std::vector<ThreadStack> native;  // the main thread first
};

struct Findings {
  std::vector<std::string> devices{};       // leased ids
  std::vector<std::string> kernel_lines{};  // about them, since the case began
  std::vector<ProcessFinding> processes{};
  // What could not be read, each with how to allow it. One sentence each.
  std::vector<std::string> gaps{};
};

// Whether a native function belongs to the Python interpreter: where it begins, the Python stack says more.
bool is_interpreter(std::string_view function);

// For people in a hurry: at most ten lines, the process that holds a device first. If there are many
// processes (ranks), each has one line, so that differences between them are seen.
std::vector<std::string> ten_lines(const Findings& findings);

// Everything about one process, as it goes into the file.
std::string facts_text(const ProcessFinding& process);
std::string python_text(const ProcessFinding& process);

}  // namespace proctor
