#include "harness/process/evidence/findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/process/evidence/own_frame.h"

namespace proctor {
namespace {

// ---- at most ten lines ----

constexpr std::string_view kLauncherOfRanks = " launch-ranks ";  // a process of Proctor
constexpr std::size_t kMaxLines = 10;
constexpr std::size_t kMaxLineBytes = 200;
constexpr std::size_t kMaxInFull = 2;  // processes; more get one line each
constexpr std::size_t kFramesShown = 4;
constexpr std::size_t kMaxGaps = 2;

bool has_children(const Findings& findings, int pid) {
  return std::any_of(findings.processes.begin(), findings.processes.end(),
                     [pid](const ProcessFinding& process) { return process.facts.parent == pid; });
}

// A shell that waits for its command says nothing that the command does not say.
bool only_waits_for_a_child(const Findings& findings, const ProcessFacts& facts) {
  return facts.device_nodes.empty() && facts.threads.size() == 1 &&
         facts.threads.front().wchan == "do_wait" && has_children(findings, facts.pid);
}

// Those that hold a device, then those that wait for nobody else; else in the order of the tree.
std::vector<const ProcessFinding*> by_interest(const Findings& findings) {
  std::vector<const ProcessFinding*> sorted;
  for (const ProcessFinding& process : findings.processes) {
    if (!only_waits_for_a_child(findings, process.facts)) sorted.push_back(&process);
  }
  const auto weight = [&](const ProcessFinding* process) {
    const bool leaf = !has_children(findings, process->facts.pid);
    return (process->facts.device_nodes.empty() ? 0 : 2) + (leaf ? 1 : 0);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto* a, const auto* b) { return weight(a) > weight(b); });
  return sorted;
}

std::string python_stack(const ProcessFinding& process, std::size_t most) {
  if (process.python.threads.empty()) return "";
  std::vector<std::string> frames;
  for (const ThreadFrame& frame : process.python.threads.front().frames) {
    if (frames.size() == most) break;
    const bool first = frames.empty();  // its whole path can be opened
    frames.push_back(frame.function + " at " +
                     (first ? frame.location : frame.location.substr(frame.location.rfind('/') + 1)));
  }
  return joined(frames, " < ");
}

bool is_python(const ProcessFinding& process) { return !process.python.interpreter.empty(); }

// Without those of the C library, which are the same for every hang, unless there are no others.
std::vector<ThreadFrame> telling_frames(const ProcessFinding& process) {
  std::vector<ThreadFrame> named;
  for (const ThreadFrame& frame : process.native.front().frames) {
    if (is_python(process) && !named.empty() && is_interpreter(frame.function)) break;
    if (frame.function != "??") named.push_back(frame);
  }
  std::vector<ThreadFrame> telling;
  std::ranges::remove_copy_if(named, std::back_inserter(telling), is_runtime);
  return telling.empty() ? named : telling;
}

std::string native_stack(const ProcessFinding& process, std::size_t most) {
  if (process.native.empty()) return "";
  std::vector<std::string> frames;
  for (const ThreadFrame& frame : telling_frames(process)) {
    if (frames.size() == most) break;
    const std::string location = frame.location.substr(frame.location.rfind('/') + 1);
    frames.push_back(frame.function + (location.empty() ? "" : " at " + location));
  }
  return joined(frames, " < ");
}

std::string kernel_wait(const ProcessFacts& facts) {
  return facts.threads.empty() ? "" : facts.threads.front().wchan;
}

std::string who(const ProcessFacts& facts) {
  const std::string rank = facts.rank.empty() ? "" : ", rank " + facts.rank;
  return fmt::format("{} (pid {}{})", facts.name, facts.pid, rank);
}

std::string holds(const ProcessFacts& facts) {
  return facts.device_nodes.empty() ? "" : "holds " + joined(facts.device_nodes, " ");
}

void add_in_full(const ProcessFinding& process, std::vector<std::string>& lines) {
  const ProcessFacts& facts = process.facts;
  std::string head = fmt::format("{}: state {}{}", who(facts), facts.state,
                                 facts.state == 'D' ? " (cannot be interrupted)" : "");
  if (const std::string wait = kernel_wait(facts); !wait.empty()) head += " in " + wait;
  head += fmt::format(", {} thread{}, {} MiB", facts.threads.size(), facts.threads.size() == 1 ? "" : "s",
                      facts.resident_kib / 1024);
  if (!facts.device_nodes.empty()) head += ", " + holds(facts);
  lines.push_back(head);
  if (const std::string stack = python_stack(process, kFramesShown); !stack.empty())
    lines.push_back("  Python: " + stack);
  if (const std::string stack = native_stack(process, kFramesShown); !stack.empty())
    lines.push_back("  native: " + stack);
}

std::string in_one_line(const ProcessFinding& process) {
  std::vector<std::string> parts;
  for (std::string part : {python_stack(process, 1), native_stack(process, 1), kernel_wait(process.facts),
                           holds(process.facts)}) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  return who(process.facts) + ": " + joined(parts, "; ");
}

// ---- everything ----

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

std::vector<std::string> ten_lines(const Findings& findings) {
  std::vector<std::string> lines;
  if (!findings.devices.empty()) lines.push_back("devices: " + joined(findings.devices, ", "));
  // The first one: what follows it is its consequence.
  if (!findings.kernel_lines.empty()) lines.push_back("kernel log: " + findings.kernel_lines.front());
  const std::size_t gaps = std::min(findings.gaps.size(), kMaxGaps);
  const auto processes = by_interest(findings);
  if (processes.size() <= kMaxInFull) {
    for (const ProcessFinding* process : processes) add_in_full(*process, lines);
  } else {
    const std::size_t room = kMaxLines - gaps - lines.size();
    const std::size_t shown = processes.size() <= room ? processes.size() : room - 1;
    for (std::size_t i = 0; i < shown; ++i) lines.push_back(in_one_line(*processes[i]));
    if (shown < processes.size())
      lines.push_back(fmt::format("and {} more processes", processes.size() - shown));
  }
  if (processes.empty()) lines.push_back("no process was left");
  lines.insert(lines.end(), findings.gaps.begin(), findings.gaps.begin() + static_cast<std::ptrdiff_t>(gaps));
  for (std::string& line : lines) {
    line = clean_text(line);
    std::replace(line.begin(), line.end(), '\n', ' ');
    if (line.size() > kMaxLineBytes) line = line.substr(0, kMaxLineBytes - 3) + "...";
  }
  return lines;
}

std::optional<StackFrame> own_frame(const Findings& findings) {
  for (const ProcessFinding* process : by_interest(findings)) {
    if (process->facts.command.find(kLauncherOfRanks) != std::string::npos) continue;
    std::optional<StackFrame> frame;
    if (!process->python.threads.empty()) frame = own_python_frame(process->python.threads.front());
    if (!frame && !process->native.empty()) frame = own_frame(process->native.front(), is_python(*process));
    if (frame) return frame;
  }
  return std::nullopt;
}

std::string facts_text(const ProcessFinding& process) {
  const ProcessFacts& facts = process.facts;
  std::string text = fmt::format("== process {} ({}), child of {}: {}\n", facts.pid, facts.name, facts.parent,
                                 or_unknown(facts.command));
  text += fmt::format("  state {}, {} threads, {} KiB resident, {} KiB swapped\n", facts.state,
                      facts.threads.size(), facts.resident_kib, facts.swapped_kib);
  if (facts.holds_memory_lock)
    text +=
        "  holds the lock of its address space: its command line, environment and mappings cannot be read\n";
  if (!facts.rank.empty()) text += fmt::format("  rank {}\n", facts.rank);
  text += "  device nodes:";
  for (const std::string& node : facts.device_nodes) text += ' ' + clean_text(node);
  text += facts.device_nodes.empty() ? " none\n" : "\n";
  text += fmt::format("  cgroup {}\n{}", or_unknown(facts.cgroup), indented(process.cgroup));
  for (const ThreadFacts& thread : facts.threads) text += thread_text(thread);
  return text;
}

std::string python_text(const ProcessFinding& process) {
  std::string text =
      fmt::format("== Python stacks of process {}: {}\n", process.facts.pid, process.python.interpreter);
  for (const ThreadStack& thread : process.python.threads) {
    text += fmt::format("  thread {} ({})\n", thread.tid, thread.name);
    for (const ThreadFrame& frame : thread.frames)
      text += fmt::format("      {} at {}\n", frame.function, frame.location);
  }
  return text;
}

}  // namespace proctor
