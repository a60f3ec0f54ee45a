#include "harness/process/evidence/collect.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "harness/base/clock.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/process/evidence/own_frame.h"
#include "harness/process/evidence/thread_stacks.h"
#include "harness/process/evidence/tools.h"

namespace proctor {
namespace {

// ---- The summary of at most ten lines ----

// part of the command line of a Proctor process
constexpr std::string_view kLauncherOfRanks = " launch-ranks ";
constexpr std::size_t kMaxLines = 10;
constexpr std::size_t kMaxLineBytes = 200;
constexpr std::size_t kMaxInFull = 2;  // processes; if there are more, each has one line
constexpr std::size_t kFramesShown = 4;
constexpr std::size_t kMaxGaps = 2;

bool has_children(const Findings& findings, int pid) {
  return std::any_of(findings.processes.begin(), findings.processes.end(),
                     [pid](const ProcessFinding& process) { return process.facts.parent == pid; });
}

// Returns whether the process, such as a shell, only waits for its child. The child's entry has the same
// information.
bool only_waits_for_a_child(const Findings& findings, const ProcessFacts& facts) {
  return facts.device_nodes.empty() && facts.threads.size() == 1 &&
         facts.threads.front().wchan == "do_wait" && has_children(findings, facts.pid);
}

// Returns processes that hold a device first, then the others in tree order. Processes that only wait for a
// child are omitted.
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
    // the first location is shown with its whole path, so that it can be opened
    const bool first = frames.empty();
    frames.push_back(frame.function + " at " +
                     (first ? frame.location : frame.location.substr(frame.location.rfind('/') + 1)));
  }
  return joined(frames, " < ");
}

bool is_python(const ProcessFinding& process) { return !process.python.interpreter.empty(); }

// Returns the frames without those of the C library, which are the same in every hang. If there are no
// others, returns all.
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

// ---- The full text ----

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
  // The first message is shown, because later ones are usually its consequences.
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

namespace {

constexpr std::size_t kMaxTraced = 16;  // limit of traced processes; each has a debugger, and all run at once
constexpr Milliseconds kReserve{300};   // time reserved for writing the results
constexpr std::size_t kMaxOddOutput = 4096;  // bytes shown of output that is not a stack
constexpr Milliseconds kPatience{250};       // wait for a process whose files block
constexpr Milliseconds kFilesLimit{1'000};   // limit for all files of all processes
constexpr Milliseconds kPythonLimit{2'000};  // py-spy needs 0.1 s; native stacks have the remaining time

bool has_names(const std::vector<ThreadStack>& threads) {
  return std::any_of(threads.begin(), threads.end(), [](const ThreadStack& thread) {
    return std::any_of(thread.frames.begin(), thread.frames.end(),
                       [](const ThreadFrame& frame) { return frame.function != "??"; });
  });
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class Collection {
 public:
  Collection(const CollectRequest& request, Containment& containment, std::ostream& text)
      : request_(request),
        containment_(containment),
        text_(text),
        left_(request.budget - kReserve),
        tools_(tool_settings(request.environment, request.more_tools)) {
    findings_.devices = request.devices;
    findings_.kernel_lines = request.kernel_lines;
  }

  void collect_processes();
  void collect_python_stacks();
  void collect_native_stacks();
  void write_gaps();

  EvidenceDigest digest() const {
    return {.lines = ten_lines(findings_), .frame = own_frame(findings_), .core_program = ""};
  }

 private:
  std::vector<ToolRun> run(const std::vector<std::vector<std::string>>& commands, Milliseconds limit);
  // Subtracts the time of a step, at most its limit, from the budget. Waits for a CPU beyond the limit do not
  // count.
  void use_up(Clock::time_point since, Milliseconds limit) {
    const auto took = std::chrono::duration_cast<Milliseconds>(Clock::now() - since);
    left_ = std::max(Milliseconds(0), left_ - std::min(took, limit));
  }
  std::vector<ProcessFinding*> traced();
  std::vector<ProcessFinding*> pythons();
  void take_python(ProcessFinding& process, const ToolRun& run);
  void take_native(ProcessFinding& process, const ToolRun& run, const std::string& tool);
  void add_gap(const std::string& gap) {
    if (std::find(findings_.gaps.begin(), findings_.gaps.end(), gap) == findings_.gaps.end())
      findings_.gaps.push_back(gap);
  }

  const CollectRequest& request_;
  Containment& containment_;
  std::ostream& text_;
  Milliseconds left_;
  ToolSettings tools_;
  ProcReader reader_{kPatience};
  Findings findings_;
};

std::vector<ToolRun> Collection::run(const std::vector<std::vector<std::string>>& commands,
                                     Milliseconds limit) {
  const Clock::time_point begin = Clock::now();
  auto runs = run_tools(containment_, commands, tools_.environment, limit);
  use_up(begin, limit);
  return runs;
}

void Collection::collect_processes() {
  const Clock::time_point begin = Clock::now();
  for (const std::string& device : request_.devices) text_ << "device " << clean_text(device) << '\n';
  for (const std::string& line : request_.kernel_lines) text_ << "kernel log: " << clean_text(line) << '\n';
  if (!request_.kernel_gap.empty()) add_gap(request_.kernel_gap);
  for (const int pid : living_descendants(request_.guard)) {
    ProcessFinding process;
    process.facts = read_process(reader_, pid);
    if (process.facts.threads.empty()) continue;
    process.cgroup = cgroup_figures(process.facts.cgroup);
    text_ << facts_text(process) << std::flush;
    if (!process.facts.may_trace)
      add_gap("stacks: not permitted; " + how_to_allow_tracing(read_trace_permission()));
    findings_.processes.push_back(std::move(process));
  }
  use_up(begin, kFilesLimit);
  const bool kernel_stacks =
      std::any_of(findings_.processes.begin(), findings_.processes.end(),
                  [](const auto& process) { return !process.facts.threads.front().kernel_stack.empty(); });
  if (!kernel_stacks && !findings_.processes.empty()) text_ << "kernel stacks: only for root\n";
}

std::vector<ProcessFinding*> Collection::pythons() {
  std::vector<ProcessFinding*> processes;
  for (ProcessFinding& process : findings_.processes) {
    if (!process.facts.may_trace || processes.size() == kMaxTraced) continue;
    process.python.interpreter = find_interpreter(reader_, process.facts.pid);
    if (!process.python.interpreter.empty()) processes.push_back(&process);
  }
  return processes;
}

void Collection::collect_python_stacks() {
  const auto processes = pythons();
  if (processes.empty()) return;
  const std::string tool = find_tool("py-spy", tools_.search);
  if (tool.empty()) return add_gap("Python stacks: py-spy is not on PATH; pip install py-spy");
  std::vector<std::vector<std::string>> commands;
  for (const ProcessFinding* process : processes)
    commands.push_back(py_spy_command(tool, process->facts.pid));
  const auto runs = run(commands, std::min(left_, kPythonLimit));
  for (std::size_t i = 0; i < runs.size(); ++i) take_python(*processes[i], runs[i]);
}

void Collection::take_python(ProcessFinding& process, const ToolRun& run) {
  auto threads = parse_py_spy(run.output, process.facts);
  if (threads) process.python.threads = *std::move(threads);
  text_ << python_text(process) << std::flush;
  if (threads && run.problem.empty()) return;
  text_ << clean_text(run.output.substr(0, kMaxOddOutput)) << clean_text(run.errors) << '\n' << std::flush;
  const std::string reason = first_line(run.errors);
  add_gap("Python stacks: py-spy: " + (run.problem.empty() ? "printed no stacks" : run.problem) +
          (reason.empty() ? "" : ": " + reason));
}

std::vector<ProcessFinding*> Collection::traced() {
  std::vector<ProcessFinding*> processes;
  for (ProcessFinding& process : findings_.processes) {
    if (process.facts.may_trace && processes.size() < kMaxTraced) processes.push_back(&process);
  }
  return processes;
}

void Collection::collect_native_stacks() {
  const auto processes = traced();
  if (processes.empty()) return;
  const auto tool = find_stack_tool(tools_.search);
  if (!tool)
    return add_gap("native stacks: neither gdb nor eu-stack is on PATH; apt-get install gdb (or elfutils)");
  std::vector<std::vector<std::string>> commands;
  for (const ProcessFinding* process : processes)
    commands.push_back(stack_command(*tool, process->facts.pid));
  const auto runs = run(commands, left_);
  for (std::size_t i = 0; i < runs.size(); ++i) take_native(*processes[i], runs[i], tool->path);
}

void Collection::take_native(ProcessFinding& process, const ToolRun& run, const std::string& tool) {
  text_ << "== " << tool << " of process " << process.facts.pid << '\n'
        << clean_text(run.output) << '\n'
        << std::flush;
  process.native = parse_native_stacks(run.output);
  std::stable_partition(process.native.begin(), process.native.end(),
                        [&](const ThreadStack& stack) { return stack.tid == process.facts.pid; });
  if (has_names(process.native) && run.problem.empty()) return;
  text_ << clean_text(run.errors) << '\n' << std::flush;
  const std::string name = tool.substr(tool.rfind('/') + 1);
  if (run.errors.find("Operation not permitted") != run.errors.npos) {
    add_gap("native stacks: not permitted; " + how_to_allow_tracing(read_trace_permission()));
  } else {
    add_gap("native stacks: " + name + ": " + (run.problem.empty() ? "named no function" : run.problem));
  }
}

void Collection::write_gaps() {
  for (const std::string& gap : findings_.gaps) text_ << gap << '\n';
  text_ << std::flush;
}

}  // namespace

void collect_evidence(const CollectRequest& request, Containment& containment, std::ostream& text,
                      const std::function<void(const EvidenceDigest&)>& digest) {
  Collection collection(request, containment, text);
  collection.collect_processes();
  digest(collection.digest());
  collection.collect_python_stacks();
  digest(collection.digest());
  collection.collect_native_stacks();
  collection.write_gaps();
  digest(collection.digest());
}

}  // namespace proctor
