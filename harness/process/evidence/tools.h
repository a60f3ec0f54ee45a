// Finds external tools on PATH and runs them with a deadline.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/process/containment.h"

namespace proctor {

// Returns the full path, or "" if no directory of `search` (in the form of PATH) contains the tool.
std::string find_tool(const std::string& name, const std::string& search);

// The environment of the tools, and the directories in which they are searched. These are the PATH of the
// caller and then `more`, unless it is "".
struct ToolSettings {
  std::string search;
  std::vector<std::string> environment;
};
ToolSettings tool_settings(const std::map<std::string, std::string>& environment, const std::string& more);

// The result of one tool.
struct ToolRun {
  std::string output;   // stdout
  std::string errors;   // the end of stderr
  std::string problem;  // why it failed: "killed after 3.0 s", "exit 1"; or ""
};

// Runs all tools at once. A tool that reaches the limit is killed with its descendants, and its output so far
// is kept. The results are in the order of the commands.
std::vector<ToolRun> run_tools(Containment& containment,
                               const std::vector<std::vector<std::string>>& commands,
                               const std::vector<std::string>& environment, Milliseconds limit);

// ---- Permission to trace ----

// The settings of this machine that restrict tracing.
struct TracePermission {
  std::optional<int> yama;  // kernel.yama.ptrace_scope; none: the kernel does not have Yama
  bool capable = false;     // CAP_SYS_PTRACE
};

TracePermission read_trace_permission();

// Returns whether stacks of a process of the same user that is not a child are readable.
bool allows_tracing(const TracePermission& permission);

// Returns one sentence with the command that permits tracing. Sources:
// Documentation/admin-guide/LSM/Yama.rst, ptrace(2) "Ptrace access mode checking".
std::string how_to_allow_tracing(const TracePermission& permission);

}  // namespace proctor
