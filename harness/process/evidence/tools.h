// Tools that are not ours, looked up on PATH and run under a deadline.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/process/containment.h"

namespace proctor {

// The full path, or "" when no directory of `search` (as in PATH) has it.
std::string find_tool(const std::string& name, const std::string& search);

// What tools get of a caller's environment, and the directories in which they are looked for: those of its PATH, then
// `more`, unless that is "".
struct ToolSettings {
  std::string search;
  std::vector<std::string> environment;
};
ToolSettings tool_settings(const std::map<std::string, std::string>& environment, const std::string& more);

struct ToolRun {
  std::string output;   // stdout
  std::string errors;   // the end of stderr
  std::string problem;  // why it did not end well: "killed after 3.0 s", "exit 1"; or ""
};

// Runs all tools at once. A tool that reaches the limit is killed with everything it started; its output
// until then is kept. The results are in the order of the commands.
std::vector<ToolRun> run_tools(Containment& containment,
                               const std::vector<std::vector<std::string>>& commands,
                               const std::vector<std::string>& environment, Milliseconds limit);

// ---- Permission to trace ----

struct TracePermission {
  std::optional<int> yama;  // kernel.yama.ptrace_scope; none: the kernel has no Yama
  bool capable = false;     // CAP_SYS_PTRACE
};

TracePermission read_trace_permission();

// Whether the memory and the stacks of a process of the same user that is no child can be read.
bool allows_tracing(const TracePermission& permission);

// How to allow what was not permitted, in one sentence that can be copied. Sources:
// Documentation/admin-guide/LSM/Yama.rst, ptrace(2) "Ptrace access mode checking".
std::string how_to_allow_tracing(const TracePermission& permission);

}  // namespace proctor
