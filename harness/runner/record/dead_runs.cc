#include "harness/runner/record/dead_runs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "harness/base/held_directory.h"
#include "harness/base/read_file.h"
#include "harness/base/unique_fd.h"
#include "harness/base/user_name.h"
#include "harness/process/cgroup.h"
#include "harness/process/fair_time.h"
#include "harness/process/proc_reader.h"
#include "harness/runner/record/process_handle.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCgroupKill = "cgroup.kill";
constexpr Milliseconds kKillWait{1'000};
constexpr Milliseconds kKillPoll{5};

bool is_populated(const fs::path& cgroup) {
  const auto events = read_file((cgroup / "cgroup.events").string());
  return events && events->find("populated 1") != std::string::npos;
}

// Returns the pids in the cgroup and in its descendants.
std::vector<pid_t> members_of(const fs::path& cgroup) {
  std::vector<pid_t> pids;
  const auto add = [&pids](const fs::path& directory) {
    std::ifstream list(directory / "cgroup.procs");
    for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  };
  add(cgroup);
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(cgroup, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->is_directory(error)) add(at->path());
  }
  return pids;
}

void kill_cgroup(const fs::path& cgroup) {
  std::ofstream(cgroup / kCgroupKill) << "1";
  KillWait wait(kKillWait);
  while (is_populated(cgroup) && !wait.is_over(members_of(cgroup))) std::this_thread::sleep_for(kKillPoll);
}

// Removes a cgroup after its children: the kernel does not remove a cgroup with children.
void remove_cgroup(const fs::path& cgroup) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(cgroup, ignored)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) remove_cgroup(entry.path());
  }
  ::rmdir(cgroup.c_str());
}

// Returns the path of the run's cgroup as this process sees it. Inside a container the path differs from the record;
// the name is the same.
std::optional<fs::path> find_cgroup(const RunRecord& record) {
  const fs::path recorded = record.cgroup;
  // The run id in the name prevents the sweep of another cgroup through a wrong or forged record.
  if (recorded.filename().string().find(record.run_id) == std::string::npos) return std::nullopt;
  std::error_code error;
  if (fs::exists(recorded / kCgroupKill, error)) return recorded;
  const auto mount = cgroup2_mount();
  if (!mount || has_our_pids(record)) return std::nullopt;
  for (auto at =
           fs::recursive_directory_iterator(*mount, fs::directory_options::skip_permission_denied, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->path().filename() == recorded.filename() && fs::exists(at->path() / kCgroupKill, error))
      return at->path();
  }
  return std::nullopt;
}

bool sweep_cgroup(const RunRecord& record, std::vector<std::string>& swept) {
  const auto cgroup = find_cgroup(record);
  if (!cgroup) return true;
  const UniqueFd held(::open(cgroup->c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!held || ::flock(held.get(), LOCK_EX | LOCK_NB) != 0) {
    swept.push_back("left cgroup " + cgroup->string() + " alone: a process holds its lock");
    return false;
  }
  const bool alive = is_populated(*cgroup);
  if (alive) kill_cgroup(*cgroup);
  remove_cgroup(*cgroup);
  std::error_code error;
  const bool left = fs::exists(*cgroup, error);
  swept.push_back((alive ? "killed the processes in and removed cgroup " : "removed cgroup ") +
                  cgroup->string() + (left ? ", which the kernel still holds" : ""));
  return !left;
}

std::string numbers_of(const std::vector<LeftProcess>& left) {
  std::string text;
  for (const LeftProcess& process : left) text += (text.empty() ? "" : ", ") + std::to_string(process.pid);
  return text;
}

bool end_process(const ProcessHandle& process, std::vector<std::string>& swept) {
  ProcReader reader;
  const std::string shown = std::to_string(process.pid()) + " (" + command_of(reader, process.pid()) + ")";
  const auto killed = process.signal(SIGKILL);
  KillWait wait(kKillWait);
  bool ended = false;
  while (!(ended = process.wait_until_ended(kKillPoll)) && !wait.is_over({process.pid()})) {
  }
  swept.push_back((ended ? "killed process " : "failed to kill process ") + shown +
                  (killed ? "" : ": " + killed.error().what));
  return ended;
}

// Kills the recorded processes that the runner could not end. If the pids of the record are not valid here,
// kill_leftovers() finds the processes (find_runner.h). A process in several records is killed and reported once.
// `surviving` receives the processes that could not be ended.
bool sweep_left(const RunRecord& record, std::vector<LeftProcess>& surviving,
                std::vector<std::string>& swept) {
  if (record.left.empty()) return true;
  if (!has_our_pids(record)) {
    swept.push_back("left its processes " + numbers_of(record.left) +
                    " alone: these pids are of another boot, PID namespace or time namespace");
    return record.boot_id !=
           boot_id();  // in the same boot, a process of the other namespace may still sweep them
  }
  bool has_ended = true;
  for (const LeftProcess& process : record.left) {
    if (std::ranges::find(surviving, process) != surviving.end()) {
      has_ended = false;
      continue;
    }
    const auto held = ProcessHandle::open(process.pid, process.start_time);
    if (!held || end_process(*held, swept)) continue;
    has_ended = false;
    surviving.push_back(process);
  }
  return has_ended;
}

void sweep_scratch(const std::string& scratch, std::vector<std::string>& swept) {
  if (!fs::path(scratch).filename().string().starts_with(kRunScratch)) return;
  const auto removed = sweep_held_directory(scratch);
  if (!removed) {
    swept.push_back("failed to " + removed.error().what);
  } else if (*removed) {
    swept.push_back("removed scratch directory " + scratch);
  }
}

bool sweep_of(const RunRecord& record, std::vector<LeftProcess>& surviving, std::vector<std::string>& said) {
  const bool ended = sweep_left(record, surviving, said);
  const bool swept = sweep_cgroup(record, said);
  for (const auto& directory : record.scratch) sweep_scratch(directory, said);
  return ended && swept;
}

std::string name_of(const RunRecord& record) {
  return "run " + record.run_id + " of " + user_name(::geteuid()) + " in " + record.run_dir;
}

}  // namespace

bool sweep_run(const RunRecord& record, std::vector<std::string>& said) {
  std::vector<LeftProcess> surviving;
  return sweep_of(record, surviving, said);
}

std::vector<std::string> sweep_dead_runs() {
  std::vector<std::string> swept;
  std::vector<LeftProcess> surviving;
  for (const auto& directory : run_record_directories()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      const std::string path = entry.path().string();
      if (entry.path().extension() != ".json") continue;
      const auto found = read_private_record(path);
      if (!found || found->runner.state == RunnerState::kAlive) continue;
      const RunRecord& record = found->record;
      if (found->runner.state == RunnerState::kUnknown) {
        swept.push_back(name_of(record) + " may be alive and is left alone: " + found->runner.why +
                        "; if it has ended, remove " + path);
        continue;
      }
      std::vector<std::string> said;
      if (sweep_of(record, surviving, said)) remove_run_record(record);
      for (const std::string& sentence : said)
        swept.push_back("after the end of " + name_of(record) + ": " + sentence);
    }
  }
  return swept;
}

}  // namespace proctor
