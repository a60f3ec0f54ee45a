// Looks at a case's processes from outside, the cheapest and most certain sources first: /proc, Python
// stacks, native stacks. It runs in a process of its own that may be killed at any step; everything found
// until then is already written.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/journal/events.h"
#include "harness/process/containment.h"
#include "harness/process/evidence/gatherer.h"
#include "harness/process/evidence/process_facts.h"
#include "harness/process/evidence/thread_stacks.h"

namespace proctor {

struct ProcessFinding {
  ProcessFacts facts;
  PythonStacks python;
  std::string cgroup;               // its figures, one a line
  std::vector<ThreadStack> native;  // the main thread first
};

// What was found out about the processes of a case before it is ended.
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

struct CollectRequest {
  int guard = 0;  // the case's processes are below it
  std::vector<std::string> devices;
  std::vector<std::string> kernel_lines{};  // of the case's time and devices
  std::string kernel_gap{};                 // why there may be more of them, or ""
  Milliseconds budget{4'500};
  std::map<std::string, std::string> environment;  // of the tools; PATH is where they are looked for,
  std::string more_tools{};                        // then these directories; "": none
};

// `text` gets everything; `digest` is called whenever it is better than before.
// `containment` holds the tools.
void collect_evidence(const CollectRequest& request, Containment& containment, std::ostream& text,
                      const std::function<void(const EvidenceDigest&)>& digest);

}  // namespace proctor
