// Collects evidence about the running processes of a case from outside. It reads the cheapest and most
// reliable sources first: /proc, Python stacks, native stacks. It runs in its own process, which can be
// killed at any step. All findings until then are already written.
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

// The findings about one process.
struct ProcessFinding {
  ProcessFacts facts;
  PythonStacks python;
  std::string cgroup;               // figures of its cgroup, one on each line
  std::vector<ThreadStack> native;  // the main thread first
};

// The findings about the processes of a case before they are ended.
struct Findings {
  std::vector<std::string> devices{};       // ids of the leased devices
  std::vector<std::string> kernel_lines{};  // kernel messages about the devices since the start of the case
  std::vector<ProcessFinding> processes{};
  // Sources that could not be read, each with the way to permit it. One sentence each.
  std::vector<std::string> gaps{};
};

// Returns a summary of at most ten lines. The process that holds a device comes first. If there are many
// processes (ranks), each has one line, so that differences between them are visible.
std::vector<std::string> ten_lines(const Findings& findings);

// Returns the own frame of the first process in that order, if it has one. The Python stack takes precedence
// over the native one.
std::optional<StackFrame> own_frame(const Findings& findings);

// These return the full text about one process for the evidence file.
std::string facts_text(const ProcessFinding& process);
std::string python_text(const ProcessFinding& process);

// The parameters of collect_evidence().
struct CollectRequest {
  int guard = 0;  // process whose descendants are the processes of the case
  std::vector<std::string> devices;
  std::vector<std::string> kernel_lines{};  // kernel messages in the time of the case, about its devices
  std::string kernel_gap{};                 // why kernel messages may be missing, or ""
  Milliseconds budget{4'500};
  std::map<std::string, std::string> environment;  // environment of the tools; PATH is the first search path
  std::string more_tools{};                        // further directories with tools; "": none
};

// Writes all evidence to `text`. Calls `digest` after each improvement of the summary. `containment` contains
// the tools.
void collect_evidence(const CollectRequest& request, Containment& containment, std::ostream& text,
                      const std::function<void(const EvidenceDigest&)>& digest);

}  // namespace proctor
