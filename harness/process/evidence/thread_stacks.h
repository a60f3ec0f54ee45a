// Reads the stacks of all threads of a running process with external tools: native stacks and Python stacks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/process/evidence/process_facts.h"
#include "harness/process/proc_reader.h"

namespace proctor {

// One frame of a native or a Python stack.
struct ThreadFrame {
  std::string function{};  // "??": unknown
  std::string location{};  // "/src/train.py:12", or ""
  std::string library{};   // "/lib/x86_64-linux-gnu/libc.so.6" for a native frame without a location; or ""
};

// The stack of one thread. The innermost frame comes first.
struct ThreadStack {
  int tid = 0;  // in the PID namespace of the runner; 0: unknown
  std::string name;
  std::vector<ThreadFrame> frames;
};

// ---- Native stacks, read by gdb or eu-stack ----

// An installed debugger.
struct StackTool {
  enum class Kind { kGdb, kEuStack };
  Kind kind = Kind::kGdb;
  std::string path;
};

// Returns gdb, or eu-stack if gdb is not installed. gdb supports more kinds of debug information. `search`
// has the form of PATH.
std::optional<StackTool> find_stack_tool(const std::string& search);

std::vector<std::string> stack_command(const StackTool& tool, int pid);
// Returns the command for a core. The thread that crashed comes first. `program` may be "".
std::vector<std::string> core_stack_command(const StackTool& tool, const std::string& core,
                                            const std::string& program);

// Parses the output of either tool. The order of the threads is that of the text.
std::vector<ThreadStack> parse_native_stacks(std::string_view text);

// ---- Python stacks, as `py-spy dump` prints them ---- py-spy reads the memory of the process from outside.
// It injects no code, and works while a blocked call holds the GIL. Version 0.4.3 supports CPython 3.6 to
// 3.15.

// The Python stacks of a process.
struct PythonStacks {
  std::string interpreter;           // "" if the process does not run Python
  std::vector<ThreadStack> threads;  // the main thread first
};

// Returns the program or library that contains the Python interpreter, or "". The path is that of the
// process's own mount namespace.
std::string find_interpreter(ProcReader& reader, int pid);

// Returns the command of py-spy. The option --nonblocking keeps py-spy from pausing the process, so a killed
// py-spy leaves no stopped process. The command requests no native frames. They need the pause, and py-spy
// fails if the process is in another PID namespace.
std::vector<std::string> py_spy_command(const std::string& tool, int pid);

// Parses the output of py-spy for `process`.
Result<std::vector<ThreadStack>> parse_py_spy(std::string_view text, const ProcessFacts& process);

}  // namespace proctor
