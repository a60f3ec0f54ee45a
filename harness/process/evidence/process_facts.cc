#include "harness/process/evidence/process_facts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/process/guard/tree.h"
#include "harness/process/proc_reader.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxProcesses = 64;
constexpr std::size_t kMaxThreads = 256;
constexpr std::size_t kMaxCommand = 300;

std::string without_end(Result<std::string> text) {
  if (!text) return "";
  while (!text->empty() && (text->back() == '\n' || text->back() == '\0')) text->pop_back();
  return *std::move(text);
}

std::string text_of(const std::string& path) { return without_end(read_file(path)); }

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Returns the value of a line `Name:  value`.
std::string line_value(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size());
    return begin == line.npos ? "" : line.substr(begin);
  }
  return "";
}

char state_of(const std::string& status) {
  const std::string state = line_value(status, "State:");
  return state.empty() ? '?' : state.front();
}

int last_number(const std::string& text) { return number(text.substr(text.find_last_of(" \t") + 1)); }

ThreadFacts read_thread(ProcReader& reader, int pid, int tid) {
  const std::string name = "task/" + std::to_string(tid);
  const std::string directory = "/proc/" + std::to_string(pid) + "/" + name;
  const std::string status = text_of(directory + "/status");
  ThreadFacts thread;
  thread.tid = tid;
  thread.own_tid = last_number(line_value(status, "NSpid:"));
  thread.name = clean_text(line_value(status, "Name:"));
  thread.state = state_of(status);
  thread.wchan = text_of(directory + "/wchan");
  if (thread.wchan == "0") thread.wchan.clear();
  thread.syscall = without_end(reader.read(pid, name + "/syscall"));
  thread.kernel_stack = without_end(reader.read(pid, name + "/stack"));
  return thread;
}

std::vector<int> numbered_entries(const std::string& directory) {
  std::vector<int> numbers;
  std::error_code ec;
  for (fs::directory_iterator it(directory, ec), end; !ec && it != end; it.increment(ec)) {
    numbers.push_back(number(it->path().filename().string()));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void add_open_nodes(const std::string& proc, std::set<std::string>& nodes) {
  for (const int fd : numbered_entries(proc + "/fd")) {
    std::error_code ec;
    const std::string target = fs::read_symlink(proc + "/fd/" + std::to_string(fd), ec).string();
    if (is_accelerator_node(target)) nodes.insert(target);
  }
}

// A node can stay mapped after its descriptor was closed.
void add_mapped_nodes(const std::string& text, std::set<std::string>& nodes) {
  std::istringstream maps(text);
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find("/dev/");
    if (path != line.npos && is_accelerator_node(line.substr(path))) nodes.insert(line.substr(path));
  }
}

std::string rank_in(const std::string& environment) {
  constexpr std::array<std::string_view, 5> kNames = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                                      "LOCAL_RANK"};
  for (const std::string_view name : kNames) {
    std::istringstream entries(environment);
    for (std::string entry; std::getline(entries, entry, '\0');) {
      if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
        return clean_text(entry.substr(name.size() + 1, 16));
    }
  }
  return "";
}

std::string command_in(std::string cmdline) {
  std::replace(cmdline.begin(), cmdline.end(), '\0', ' ');
  if (cmdline.size() > kMaxCommand) cmdline.resize(kMaxCommand);
  return clean_text(cmdline);
}

std::uint64_t kib(const std::string& value) {
  std::uint64_t amount = 0;
  std::from_chars(value.data(), value.data() + value.size(), amount);
  return amount;
}

std::string cgroup2_mount() {
  const auto mounts = read_file("/proc/self/mounts");
  if (!mounts) return "";
  std::istringstream lines(*mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device, directory, type;
    if (words >> device >> directory >> type && type == "cgroup2") return directory;
  }
  return "";
}

// Returns the file as one line: "memory.events: low 0, high 0, oom 1".
std::string on_one_line(const std::string& name, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos;) text.replace(at, 1, ", ");
  return name + ": " + text + '\n';
}

}  // namespace

bool is_accelerator_node(std::string_view path) {
  constexpr std::array<std::string_view, 4> kPrefixes = {"/dev/dri/", "/dev/accel/", "/dev/nvidia",
                                                         "/dev/kfd"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [path](std::string_view prefix) { return path.starts_with(prefix); });
}

std::vector<int> living_descendants(int root) {
  std::vector<int> pids;
  for (const pid_t pid : guard::descendants(root)) {
    if (!is_zombie_or_ended(pid) && pids.size() < kMaxProcesses) pids.push_back(pid);
  }
  return pids;
}

ProcessFacts read_process(ProcReader& reader, int pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  const std::string status = text_of(proc + "/status");
  ProcessFacts facts;
  facts.pid = pid;
  if (status.empty()) return facts;
  facts.parent = number(line_value(status, "PPid:"));
  facts.name = clean_text(line_value(status, "Name:"));
  facts.state = state_of(status);
  facts.resident_kib = kib(line_value(status, "VmRSS:"));
  facts.swapped_kib = kib(line_value(status, "VmSwap:"));
  facts.cgroup = line_value(text_of(proc + "/cgroup"), "0::");
  for (const int tid : numbered_entries(proc + "/task")) {
    if (facts.threads.size() == kMaxThreads) break;
    facts.threads.push_back(read_thread(reader, pid, tid));
  }
  std::stable_partition(facts.threads.begin(), facts.threads.end(),
                        [pid](const ThreadFacts& thread) { return thread.tid == pid; });
  const auto traced = reader.read(pid, "syscall");
  facts.may_trace = traced.ok() || (traced.error().sys_errno != EPERM && traced.error().sys_errno != EACCES);
  std::set<std::string> nodes;
  add_open_nodes(proc, nodes);
  const auto command = reader.read(pid, "cmdline");
  facts.holds_memory_lock = !command && command.error().sys_errno == ETIMEDOUT;
  facts.command = command_in(without_end(command));
  facts.rank = rank_in(without_end(reader.read(pid, "environ")));
  add_mapped_nodes(without_end(reader.read(pid, "maps")), nodes);
  facts.device_nodes.assign(nodes.begin(), nodes.end());
  return facts;
}

std::string cgroup_figures(const std::string& path) {
  constexpr std::array<const char*, 8> kFiles = {"memory.current", "memory.peak",  "memory.max",
                                                 "memory.events",  "pids.current", "memory.swap.current",
                                                 "cpu.max",        "cgroup.events"};
  const std::string mount = cgroup2_mount();
  if (mount.empty() || path.empty()) return "";
  std::string figures;
  for (const char* name : kFiles) {
    if (const auto text = read_file(mount + path + "/" + name)) figures += on_one_line(name, *text);
  }
  return figures;
}

}  // namespace proctor
