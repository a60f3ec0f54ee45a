#include "harness/process/evidence/collect.h"

#include <algorithm>

#include "harness/base/clock.h"
#include "harness/base/text.h"
#include "harness/process/evidence/findings.h"
#include "harness/process/evidence/thread_stacks.h"
#include "harness/process/evidence/tools.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxTraced = 16;       // processes; a debugger each, all at once
constexpr Milliseconds kReserve{300};        // for writing it all down
constexpr std::size_t kMaxOddOutput = 4096;  // bytes that are shown of what is no stack
constexpr Milliseconds kPatience{250};       // with a process that does not let its files be read
constexpr Milliseconds kFilesLimit{1'000};   // all files of all processes
constexpr Milliseconds kPythonLimit{2'000};  // py-spy takes 0.1 s; the rest is for native stacks

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
  // A step uses up at most its limit, which does not count the waits for a CPU.
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
