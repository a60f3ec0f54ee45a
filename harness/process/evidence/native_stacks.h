// User stacks of all threads of a process, by gdb or eu-stack, whichever is installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/process/evidence/stack_frame.h"

namespace proctor {

struct StackTool {
  enum class Kind { kGdb, kEuStack };
  Kind kind = Kind::kGdb;
  std::string path;
};

// gdb first: it reads more kinds of debug information. `search` has the form of PATH.
std::optional<StackTool> find_stack_tool(const std::string& search);

std::vector<std::string> stack_command(const StackTool& tool, int pid);
// From a core: the thread that crashed comes first. `program` may be "" where it is not known.
std::vector<std::string> core_stack_command(const StackTool& tool, const std::string& core,
                                            const std::string& program);

// Parses the output of either tool. Threads are in the order of the text.
std::vector<ThreadStack> parse_native_stacks(std::string_view text);

}  // namespace proctor
