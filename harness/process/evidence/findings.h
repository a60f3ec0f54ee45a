// What was found out about the processes of a case before it is ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/process/evidence/process_facts.h"
#include "harness/process/evidence/thread_stacks.h"

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

// For people in a hurry: at most ten lines, the process that holds a device first. If there are many
// processes (ranks), each has one line, so that differences between them are seen.
std::vector<std::string> ten_lines(const Findings& findings);

// Of the process that comes first there, if it has a frame of its own. The Python stack comes before the native one.
std::optional<StackFrame> own_frame(const Findings& findings);

// Everything about one process, as it goes into the file.
std::string facts_text(const ProcessFinding& process);
std::string python_text(const ProcessFinding& process);

}  // namespace proctor
