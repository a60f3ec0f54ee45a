#include "harness/evidence/collect.h"

#include <algorithm>

#include "harness/core/clock.h"
#include "harness/core/text.h"
#include "harness/evidence/native_stacks.h"
#include "harness/evidence/permission.h"
#include "harness/evidence/py_spy.h"
#include "harness/evidence/tools.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxTraced = 16;  // processes; a debugger each, all at once
constexpr Milliseconds kReserve{300};   // for writing it all down
constexpr Milliseconds kPythonLimit{1'000};

bool has_names(const std::vector<ThreadStack>& threads) {
  return std::any_of(threads.begin(), threads.end(), [](const ThreadStack& thread) {
    return std::any_of(thread.frames.begin(), thread.frames.end(),
                       [](const StackFrame& frame) { return frame.function != "??"; });
  });
}

class Collection {
 public:
  Collection(const CollectRequest& request, Containment& containment, std::ostream& text)
      : request_(request),
        containment_(containment),
        text_(text),
        end_(Clock::now() + request.budget - kReserve) {
    findings_.devices = request.devices;
    findings_.kernel_lines = request.kernel_lines;
    if (const auto path = request.environment.find("PATH"); path != request.environment.end())
      search_ = path->second;
    for (const auto& [name, value] : request.environment) {
      // gdb would ask a server for debug information, and wait for it.
      if (name != "DEBUGINFOD_URLS") environment_.push_back(name + "=" + value);
    }
  }

  void collect_processes();
  void collect_python_stacks();
  void collect_native_stacks();
  void write_gaps();

  const Findings& findings() const { return findings_; }

 private:
  Milliseconds left() const {
    return std::max(Milliseconds(0), std::chrono::duration_cast<Milliseconds>(end_ - Clock::now()));
  }
  std::vector<ProcessFinding*> traced();
  void run_py_spy(const std::vector<ProcessFinding*>& unread);
  void take_native(ProcessFinding& process, const ToolRun& run, const std::string& tool);
  void add_gap(const std::string& gap) {
    if (std::find(findings_.gaps.begin(), findings_.gaps.end(), gap) == findings_.gaps.end())
      findings_.gaps.push_back(gap);
  }

  const CollectRequest& request_;
  Containment& containment_;
  std::ostream& text_;
  Clock::time_point end_;
  std::string search_;
  std::vector<std::string> environment_;
  Findings findings_;
};

void Collection::collect_processes() {
  for (const std::string& device : request_.devices) text_ << "device " << clean_text(device) << '\n';
  for (const std::string& line : request_.kernel_lines) text_ << "kernel log: " << clean_text(line) << '\n';
  if (!request_.kernel_gap.empty()) add_gap(request_.kernel_gap);
  for (const int pid : living_descendants(request_.guard)) {
    ProcessFinding process;
    process.facts = read_process(pid);
    if (process.facts.threads.empty()) continue;
    process.cgroup = cgroup_figures(process.facts.cgroup);
    text_ << facts_text(process) << std::flush;
    if (!process.facts.may_trace)
      add_gap("stacks: not permitted; " + how_to_allow_tracing(read_trace_permission()));
    findings_.processes.push_back(std::move(process));
  }
  const bool kernel_stacks =
      std::any_of(findings_.processes.begin(), findings_.processes.end(),
                  [](const auto& process) { return !process.facts.threads.front().kernel_stack.empty(); });
  if (!kernel_stacks && !findings_.processes.empty()) text_ << "kernel stacks: only for root\n";
}

void Collection::collect_python_stacks() {
  std::vector<ProcessFinding*> unread;
  for (ProcessFinding& process : findings_.processes) {
    if (!process.facts.may_trace) continue;
    process.python = read_python_stacks(process.facts);
    text_ << python_text(process) << std::flush;
    if (process.python.is_python && process.python.threads.empty()) unread.push_back(&process);
  }
  if (!unread.empty()) run_py_spy(unread);
}

void Collection::run_py_spy(const std::vector<ProcessFinding*>& unread) {
  const std::string tool = find_tool("py-spy", search_);
  if (tool.empty()) {
    return add_gap("Python stacks: " + unread.front()->python.problem +
                   ", which needs py-spy, and that is not on PATH; pip install py-spy");
  }
  std::vector<std::vector<std::string>> commands;
  for (const ProcessFinding* process : unread) {
    if (commands.size() == kMaxTraced) break;
    commands.push_back({tool, "dump", "--nonblocking", "--pid", std::to_string(process->facts.pid)});
  }
  const auto runs = run_tools(containment_, commands, environment_, std::min(left(), kPythonLimit));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ProcessFinding& process = *unread[i];
    text_ << "== " << tool << " of process " << process.facts.pid << '\n'
          << clean_text(runs[i].output) << '\n';
    process.python.threads = parse_py_spy(runs[i].output);
    if (runs[i].problem.empty()) continue;
    text_ << clean_text(runs[i].errors) << '\n' << std::flush;
    add_gap("Python stacks: py-spy: " + runs[i].problem);
  }
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
  const auto tool = find_stack_tool(search_);
  if (!tool)
    return add_gap("native stacks: neither gdb nor eu-stack is on PATH; apt-get install gdb (or elfutils)");
  std::vector<std::vector<std::string>> commands;
  for (const ProcessFinding* process : processes)
    commands.push_back(stack_command(*tool, process->facts.pid));
  const auto runs = run_tools(containment_, commands, environment_, left());
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
                      const std::function<void(const std::vector<std::string>&)>& digest) {
  Collection collection(request, containment, text);
  collection.collect_processes();
  digest(ten_lines(collection.findings()));
  collection.collect_python_stacks();
  digest(ten_lines(collection.findings()));
  collection.collect_native_stacks();
  collection.write_gaps();
  digest(ten_lines(collection.findings()));
}

}  // namespace proctor
