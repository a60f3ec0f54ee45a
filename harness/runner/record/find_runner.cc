#include "harness/runner/record/find_runner.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "harness/base/clock.h"
#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/journal/child_protocol.h"
#include "harness/process/fair_time.h"
#include "harness/process/guard/protocol.h"
#include "harness/process/proc_reader.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr auto kPoll = std::chrono::milliseconds(20);

std::vector<int> all_pids() {
  std::vector<int> pids;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    int pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

// Returns "" if the process has ended, or if this user may not read the file.
std::string read_of(int pid, const char* file) {
  auto text = read_file(fmt::format("/proc/{}/{}", pid, file));
  return text ? *std::move(text) : "";
}

// The same for a file in /proc that waits for a lock of its process. Returns "" also after the reader's time limit.
std::string read_of(ProcReader& reader, int pid, const std::string& file) {
  auto text = reader.read(pid, file);
  return text ? *std::move(text) : "";
}

std::string namespace_of(int pid, std::error_code& error) {
  return fs::read_symlink(fmt::format("/proc/{}/ns/pid", pid), error).string();
}

// Returns the last number of a line of proc_pid_status(5); -1: the line is missing.
int number_in_status(int pid, const std::string& name) {
  const std::string status = read_of(pid, "status");
  const auto line = status.find("\n" + name + ":");
  if (line == status.npos) return -1;
  const auto end = std::min(status.find('\n', line + 1), status.size());
  const auto last = status.find_last_of("\t ", end);
  int number = -1;
  std::from_chars(status.data() + last + 1, status.data() + end, number);
  return number;
}

// Returns the pid in the innermost PID namespace.
int innermost_pid(int pid) { return number_in_status(pid, "NSpid"); }

bool has_variable(const std::string& environment, const std::string& variable) {
  const std::string entry = variable + '\0';
  const auto at = ('\0' + environment).find('\0' + entry);
  return at != environment.npos;
}

// Searches a line "0::/PATH". PATH contains the directory of the run, whatever the root of its cgroup namespace is.
bool is_in_cgroup(const std::string& cgroups, const std::string& run_id) {
  const auto at = cgroups.find("/proctor-" + run_id);
  if (at == cgroups.npos) return false;
  const auto after = at + std::strlen("/proctor-") + run_id.size();
  return after == cgroups.size() || cgroups[after] == '/' || cgroups[after] == '\n';
}

// A guard hides its environment from its tests, and thus from a normal user. Its arguments contain the id of the run.
bool is_guard_of(const std::string& arguments, const std::string& run_id) {
  std::istringstream words(arguments);
  std::string program;
  std::string word;
  std::getline(words, program, '\0');
  for (int at = 1; at <= guard::kMarkArgument; ++at) std::getline(words, word, '\0');
  return fs::path(program).filename() == "proctor-guard" && word.starts_with(run_id + "/");
}

// Returns whether the environment contains the id of the run, or of one of its containments.
bool is_marked(ProcReader& reader, int pid, const std::string& run_id) {
  const std::string environment = read_of(reader, pid, environ_file(pid));
  return has_variable(environment, std::string(child::kRunIdVariable) + "=" + run_id) ||
         ('\0' + environment).find('\0' + (std::string(child::kContainmentVariable) + "=" + run_id + "/")) !=
             environment.npos;
}

// Start times are valid only in the same boot and time namespace. An id that cannot be read equals no other id.
bool has_our_times(const RunRecord& record) {
  std::error_code error;
  return !record.boot_id.empty() && record.boot_id == boot_id() && !record.pid_namespace.empty() &&
         record.time_namespace == fs::read_symlink("/proc/self/ns/time", error);
}

bool is_named(int pid, const RunRecord& record) {
  std::error_code error;
  if (record.left.empty() || !has_our_times(record) || namespace_of(pid, error) != record.pid_namespace)
    return false;
  const auto start = start_time_of(pid);
  return std::ranges::any_of(record.left, [&](const LeftProcess& left) {
    return left.start_time == start && left.pid == innermost_pid(pid);
  });
}

bool is_silent(ProcReader& reader, int pid) {
  const auto environment = reader.read(pid, environ_file(pid));
  return !environment && environment.error().sys_errno == ETIMEDOUT;
}

struct Leftovers {
  std::vector<ProcessHandle> found;
  std::vector<int> silent;  // started after the run, and their environment could not be read in time
};

// The mark of a process is read after its handle is open, so that its pid cannot belong to another process.
Leftovers processes_of(ProcReader& reader, const RunRecord& record) {
  const std::string& run_id = record.run_id;
  Leftovers left;
  for (const int pid : all_pids()) {
    if (pid == ::getpid()) continue;
    auto held = ProcessHandle::open(pid, start_time_of(pid));
    if (!held) continue;
    const bool ours = is_marked(reader, pid, run_id) || is_in_cgroup(read_of(pid, "cgroup"), run_id) ||
                      is_named(pid, record) || is_guard_of(read_of(reader, pid, "cmdline"), run_id);
    if (ours && !held->has_ended()) {
      left.found.push_back(*std::move(held));
    } else if (!ours && start_time_of(pid) >= record.start_time && is_silent(reader, pid)) {
      left.silent.push_back(pid);
    }
  }
  return left;
}

}  // namespace

std::optional<ProcessHandle> find_runner(const RunRecord& record) {
  if (record.pid_namespace.empty()) return std::nullopt;
  std::error_code error;
  if (record.pid_namespace == fs::read_symlink("/proc/self/ns/pid", error))
    return ProcessHandle::open(record.pid, record.start_time);
  for (const int pid : all_pids()) {
    if (namespace_of(pid, error) != record.pid_namespace || innermost_pid(pid) != record.pid) continue;
    if (auto held = ProcessHandle::open(pid, record.start_time)) return held;
  }
  return std::nullopt;
}

bool step_is_over(const RunRecord& record, const ProcessHandle& runner) {
  std::error_code error;
  const bool same_namespace = fs::read_symlink("/proc/self/ns/pid", error) == record.pid_namespace;
  const int parent = number_in_status(runner.pid(), "PPid");
  return same_namespace && record.parent_pid > 0 && parent >= 0 && parent != record.parent_pid;
}

bool stop_runner(const ProcessHandle& runner, Milliseconds limit, std::vector<std::string>& said) {
  const struct {
    int signal;
    const char* name;
    Milliseconds wait;
  } steps[] = {{SIGTERM, "SIGTERM", std::min(limit / 2, Milliseconds(10'000))},
               {SIGTERM, "a second SIGTERM", std::min(limit / 4, Milliseconds(5'000))},
               {SIGKILL, "SIGKILL", std::min(limit / 4, Milliseconds(5'000))}};
  for (const auto& step : steps) {
    if (runner.has_ended()) return true;
    if (const auto sent = runner.signal(step.signal); !sent) {
      said.push_back(fmt::format("failed to send {} to the runner: {}", step.name, sent.error().what));
      return false;
    }
    if (runner.wait_until_ended(step.wait)) {
      said.push_back(fmt::format("stopped the runner, pid {}, with {}", runner.pid(), step.name));
      return true;
    }
  }
  said.push_back(fmt::format("the runner, pid {}, survived SIGKILL", runner.pid()));
  return false;
}

bool kill_leftovers(const RunRecord& record, Milliseconds limit, std::vector<std::string>& said) {
  ProcReader reader;
  std::set<int> reported;
  KillWait wait(limit);
  for (;;) {
    const auto left = processes_of(reader, record);
    if (left.found.empty() && left.silent.empty()) return true;
    for (const ProcessHandle& process : left.found) {
      const std::string command = command_of(reader, process.pid());
      const bool killed = process.signal(SIGKILL).ok();
      if (!reported.insert(process.pid()).second) continue;
      said.push_back(
          fmt::format("{} process {} ({})", killed ? "killed" : "failed to kill", process.pid(), command));
    }
    std::vector<pid_t> pids = left.silent;
    for (const ProcessHandle& process : left.found) pids.push_back(process.pid());
    if (wait.is_over(pids)) {
      for (const int pid : left.silent)
        said.push_back(fmt::format("process {} ({}) does not show to which run it belongs", pid,
                                   command_of(reader, pid)));
      return false;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace proctor
