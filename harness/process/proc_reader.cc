#include "harness/process/proc_reader.h"

#include <dirent.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/process/guard/tree.h"

namespace proctor {

// Shared by the reading thread and the waiting caller. The last of them frees it.
struct ProcReader::Reading {
  explicit Reading(pid_t of) : pid(of) {}

  const pid_t pid;
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Result<std::string>> answer;

  bool is_over() {
    const std::lock_guard lock(mutex);
    return answer.has_value();
  }
};

namespace {

// Starts a thread that handles no signal. Returns false if no thread can be created.
template <typename Body>
bool start_thread(Body body) {
  sigset_t all;
  sigset_t saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  bool started = true;
  try {
    std::thread(std::move(body)).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  return started;
}

}  // namespace

Result<std::string> ProcReader::read(pid_t pid, const std::string& name) {
  std::erase_if(left_behind_, [](const auto& reading) { return reading->is_over(); });
  const Error late = Error::system("read " + name + " of process " + std::to_string(pid), ETIMEDOUT);
  for (const auto& reading : left_behind_) {
    if (reading->pid == pid) return late;
  }
  if (left_behind_.size() == kMostLeftBehind) return late;
  const auto reading = std::make_shared<Reading>(pid);
  const bool started = start_thread([reading, path = "/proc/" + std::to_string(pid) + "/" + name] {
    auto text = read_file(path);
    const std::lock_guard lock(reading->mutex);
    reading->answer.emplace(std::move(text));
    reading->answered.notify_one();
  });
  if (!started) return late;
  std::unique_lock lock(reading->mutex);
  if (reading->answered.wait_for(lock, patience_, [&] { return reading->answer.has_value(); }))
    return *std::move(reading->answer);
  left_behind_.push_back(reading);
  return late;
}

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

// Parses the fields 3, 14 to 17, 20 and 22 of proc_pid_stat(5). The name in field 2 may contain any bytes.
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

bool means_lost(const Error& error) { return error.sys_errno == ENOENT || error.sys_errno == ESRCH; }

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

bool is_zombie_or_ended(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? has_ended(*stat) : means_lost(stat.error());
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
  if (!name) return means_lost(name.error()) ? "" : "[?]";
  return shown("[" + name->substr(0, name->find('\n')) + "]");
}

std::vector<LeakedProcess> find_leaked_processes(ProcReader& reader, pid_t guard, pid_t leader,
                                                 int children_fd) {
  std::vector<LeakedProcess> leaked_processes;
  const guard::PidList found = guard::descendants(guard, children_fd);
  for (const pid_t pid : found) {
    if (pid == leader || is_zombie_or_ended(pid)) continue;
    if (leaked_processes.size() == kMaxNamed) break;
    leaked_processes.push_back({pid, command_of(reader, pid)});
  }
  if (const int err = found.why_not_whole(); err != 0 && leaked_processes.size() < kMaxNamed)
    leaked_processes.push_back({0, Error::system("the other processes cannot be read", err).what});
  return leaked_processes;
}

pid_t find_leader(pid_t guard, int children_fd) {
  for (const pid_t pid : guard::descendants(guard, children_fd)) {
    if (!is_zombie_or_ended(pid)) return pid;
  }
  return 0;
}

namespace {

// The prefix of an IPv4 address in /proc/net/tcp6.
constexpr std::string_view kMappedIpv4 = "0000000000000000FFFF0000";

// Returns one end of a connection as /proc/net/tcp writes it: the address as in memory, and the port.
std::optional<std::string> end_of(int connection, decltype(&getsockname) name_of) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  if (name_of(connection, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  if (address.sin_family != AF_INET) return std::nullopt;
  return fmt::format("{:08X}:{:04X}", address.sin_addr.s_addr, ntohs(address.sin_port));
}

// Returns the tenth word of a line of /proc/net/tcp.
std::uint64_t inode_in(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  for (int i = 0; i < 10; ++i) words >> word;
  std::uint64_t inode = 0;
  static_cast<void>(std::from_chars(word.data(), word.data() + word.size(), inode));
  return inode;
}

// Returns 0 if no line has these ends.
std::uint64_t inode_with(std::istream& table, const std::string& ends) {
  for (std::string line; std::getline(table, line);) {
    if (line.find(ends) != line.npos) return inode_in(line);
  }
  return 0;
}

bool has_open(pid_t pid, std::string_view link) {
  const std::string path = fmt::format("/proc/{}/fd", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> files(opendir(path.c_str()), closedir);
  if (!files) return false;
  while (const dirent* file = readdir(files.get())) {
    char target[64];
    const ssize_t length = readlinkat(dirfd(files.get()), file->d_name, target, sizeof(target));
    if (length > 0 && std::string_view(target, static_cast<std::size_t>(length)) == link) return true;
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> inode_of_peer(int connection) {
  const auto ours = end_of(connection, getsockname);
  const auto theirs = end_of(connection, getpeername);
  std::ifstream table("/proc/self/net/tcp");
  if (!table) return std::nullopt;
  if (!ours || !theirs) return 0;
  if (const std::uint64_t inode = inode_with(table, fmt::format(" {} {} ", *theirs, *ours)); inode != 0)
    return inode;
  std::ifstream mapped("/proc/self/net/tcp6");  // an IPv6 socket can also connect to 127.0.0.1
  return inode_with(mapped, fmt::format(" {1}{0} {1}{2} ", *theirs, kMappedIpv4, *ours));
}

bool tree_holds_socket(pid_t guard, std::uint64_t inode, int children_fd) {
  const std::string link = fmt::format("socket:[{}]", inode);
  const guard::PidList pids = guard::descendants(guard, children_fd);
  return std::any_of(pids.begin(), pids.end(), [&](pid_t pid) { return has_open(pid, link); });
}

}  // namespace proctor
