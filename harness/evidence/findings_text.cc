#include <fmt/core.h>

#include <sstream>

#include "harness/core/text.h"
#include "harness/evidence/findings.h"

namespace proctor {
namespace {

std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += "      " + clean_text(line) + '\n';
  return out;
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : clean_text(text); }

std::string thread_text(const ThreadFacts& thread) {
  std::string text =
      fmt::format("  thread {} ({}): state {}, waits in {}, system call {}\n", thread.tid, thread.name,
                  thread.state, or_unknown(thread.wchan), or_unknown(thread.syscall));
  if (!thread.kernel_stack.empty()) text += "    kernel stack\n" + indented(thread.kernel_stack);
  return text;
}

}  // namespace

std::string facts_text(const ProcessFinding& process) {
  const ProcessFacts& facts = process.facts;
  std::string text = fmt::format("== process {} ({}), child of {}: {}\n", facts.pid, facts.name, facts.parent,
                                 or_unknown(facts.command));
  text += fmt::format("  state {}, {} threads, {} KiB resident, {} KiB swapped\n", facts.state,
                      facts.threads.size(), facts.resident_kib, facts.swapped_kib);
  if (!facts.rank.empty()) text += fmt::format("  rank {}\n", facts.rank);
  text += "  device nodes:";
  for (const std::string& node : facts.device_nodes) text += ' ' + clean_text(node);
  text += facts.device_nodes.empty() ? " none\n" : "\n";
  text += fmt::format("  cgroup {}\n{}", or_unknown(facts.cgroup), indented(process.cgroup));
  for (const ThreadFacts& thread : facts.threads) text += thread_text(thread);
  return text;
}

std::string python_text(const ProcessFinding& process) {
  const PythonStacks& python = process.python;
  if (!python.is_python) return "";
  std::string text = fmt::format("== Python {} of process {}{}\n", or_unknown(python.version),
                                 process.facts.pid, python.problem.empty() ? "" : ": " + python.problem);
  for (const ThreadStack& thread : python.threads) {
    text += fmt::format("  thread {} ({})\n", thread.tid, thread.name);
    for (const StackFrame& frame : thread.frames)
      text += fmt::format("      {} at {}\n", frame.function, frame.location);
  }
  return text;
}

}  // namespace proctor
