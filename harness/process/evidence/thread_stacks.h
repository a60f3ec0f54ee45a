// The stacks of all threads of a running process, native and of Python.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/process/evidence/process_facts.h"
#include "harness/process/proc_reader.h"

namespace proctor {

struct ThreadFrame {
  std::string function{};  // "??" unknown
  std::string location{};  // "/src/train.py:12", or ""
  std::string library{};   // "/lib/x86_64-linux-gnu/libc.so.6", of a native frame without a location; or ""
};

// Innermost frame first.
struct ThreadStack {
  int tid = 0;  // as the runner sees it, 0 when unknown
  std::string name;
  std::vector<ThreadFrame> frames;
};

// ---- Native stacks, by gdb or eu-stack, whichever is installed ----

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

// ---- Python stacks, as `py-spy dump` prints them ----
// py-spy reads the memory of the process from outside: nothing is injected, and it also works while a
// blocked call holds the GIL. Version 0.4.3 reads CPython 3.6 to 3.15.

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
