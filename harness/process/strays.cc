#include "harness/process/strays.h"

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>

#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/process/guard/tree.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxNamed = 64;
constexpr std::size_t kMaxCommand = 200;

Result<std::string> read_proc(pid_t pid, const char* name) {
  return read_file("/proc/" + std::to_string(pid) + "/" + name);
}

std::string shown(std::string command) {
  if (command.size() > kMaxCommand) command.resize(kMaxCommand);
  return clean_text(command);
}

}  // namespace

// proc_pid_stat(5): the name in field 2 may hold anything; what is wanted are the fields 3, 14 to 17, 20 and 22.
Result<ProcessStat> read_stat(pid_t pid) {
  const auto text = read_proc(pid, "stat");
  if (!text) return text.error();
  const std::size_t after_name = text->rfind(") ");
  ProcessStat stat;
  std::istringstream fields(after_name == std::string::npos ? "" : text->substr(after_name + 2));
  std::string skipped;
  fields >> stat.state;
  for (int field = 4; field < 14; ++field) fields >> skipped;
  for (int field = 14; field < 18; ++field) {
    std::int64_t ticks = 0;
    fields >> ticks;
    stat.cpu_ticks += ticks;
  }
  for (int field = 18; field < 20; ++field) fields >> skipped;
  fields >> stat.threads >> skipped >> stat.start_time;
  if (!fields) return Error::system("read the stat of a process", ESRCH);
  return stat;
}

bool means_gone(const Error& error) { return error.sys_errno == ENOENT || error.sys_errno == ESRCH; }

bool has_ended(const ProcessStat& stat) {
  return stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1);
}

std::string environ_file(pid_t pid) {
  const auto stat = read_stat(pid);
  if (!stat || stat->state != 'Z') return "environ";
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/task", error), end;
       !error && at != end; at.increment(error)) {
    const std::string thread = at->path().filename().string();
    if (thread != std::to_string(pid)) return "task/" + thread + "/environ";
  }
  return "environ";
}

bool is_zombie_or_gone(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? has_ended(*stat) : means_gone(stat.error());
}

std::string command_of(ProcReader& reader, pid_t pid) {
  auto text = reader.read(pid, "cmdline");
  std::string command = text ? *std::move(text) : "";
  for (char& c : command) {
    if (c == '\0') c = ' ';
  }
  while (!command.empty() && command.back() == ' ') command.pop_back();
  if (!command.empty()) return shown(std::move(command));
  const auto name = read_proc(pid, "comm");
  if (!name) return means_gone(name.error()) ? "" : "[?]";
  return shown("[" + name->substr(0, name->find('\n')) + "]");
}

std::vector<Stray> find_strays(ProcReader& reader, pid_t guard, pid_t leader, int children_fd) {
  std::vector<Stray> strays;
  const guard::PidList found = guard::descendants(guard, children_fd);
  for (const pid_t pid : found) {
    if (pid == leader || is_zombie_or_gone(pid)) continue;
    if (strays.size() == kMaxNamed) break;
    strays.push_back({pid, command_of(reader, pid)});
  }
  if (const int err = found.why_not_whole(); err != 0 && strays.size() < kMaxNamed)
    strays.push_back({0, "what else is there " + Error::system("cannot be read", err).what});
  return strays;
}

pid_t find_leader(pid_t guard, int children_fd) {
  for (const pid_t pid : guard::descendants(guard, children_fd)) {
    if (!is_zombie_or_gone(pid)) return pid;
  }
  return 0;
}

}  // namespace proctor
