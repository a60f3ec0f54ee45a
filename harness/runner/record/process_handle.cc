#include "harness/runner/record/process_handle.h"

#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "harness/base/clock.h"
#include "harness/base/held_directory.h"
#include "harness/process/proc_reader.h"

namespace proctor {
namespace {

constexpr auto kPollWithoutPidfd = std::chrono::milliseconds(20);  // only without a pidfd

// Returns whether /proc belongs to the PID namespace of this process. Otherwise its pids belong to other processes.
bool has_own_proc() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self", error) == std::to_string(::getpid());
}

}  // namespace

// A process that has ended counts as ended even if it is not reaped, for example below an idle PID 1 in a container.
std::uint64_t start_time_of(int pid) {
  const auto stat = read_stat(pid);
  return stat && !has_ended(*stat) ? stat->start_time : 0;
}

// The start time is read after the pidfd is open. Otherwise the process could end in between, and another one could get
// its pid.
std::optional<ProcessHandle> ProcessHandle::open(int pid, std::uint64_t start_time) {
  if (pid <= 0 || start_time == 0)
    return std::nullopt;  // kill(2) treats 0 and negative numbers as process groups
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd && errno != ENOSYS && errno != EPERM) return std::nullopt;
  if (!has_own_proc() || start_time_of(pid) != start_time) return std::nullopt;
  return ProcessHandle(pid, start_time, std::move(pidfd));
}

bool ProcessHandle::wait_until_ended(Milliseconds limit) const {
  const auto give_up = Clock::now() + limit;
  for (;;) {
    if (has_ended()) return true;
    const auto left = std::chrono::duration_cast<Milliseconds>(give_up - Clock::now());
    if (left <= Milliseconds(0)) return false;
    if (pidfd_) {
      pollfd end{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&end, 1, static_cast<int>(left.count())) > 0) return true;
    } else {
      std::this_thread::sleep_for(kPollWithoutPidfd);
    }
  }
}

Result<void> ProcessHandle::signal(int number) const {
  if (has_ended()) return {};
  const long sent =
      pidfd_ ? ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) : ::kill(pid_, number);
  if (sent == 0 || errno == ESRCH) return {};
  return Error::system("signal process " + std::to_string(pid_), errno);
}

namespace {

LockIdentity identify(const UniqueFd& file) {
  struct stat info {};
  struct statfs system {};
  if (::fstat(file.get(), &info) != 0 || ::fstatfs(file.get(), &system) != 0) return {};
  return {
      .file_system = static_cast<std::uint32_t>(system.f_type), .device = info.st_dev, .inode = info.st_ino};
}

// An overlay and its layers show one file with separate locks. On other file systems a restart may change the device
// number.
bool is_locked_one(const LockIdentity& file, const std::vector<LockIdentity>& locked) {
  return std::ranges::any_of(locked, [&](const LockIdentity& one) {
    return file.inode != 0 && one.inode == file.inode && one.file_system == file.file_system &&
           (one.device == file.device || one.file_system != OVERLAYFS_SUPER_MAGIC);
  });
}

}  // namespace

LockIdentity lock_for_life(const UniqueFd& file) {
  if (!has_locks_of_one_machine(file.get()) || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return identify(file);
}

// The test takes a shared lock for a moment, so that two concurrent tests do not disturb each other.
RunnerStatus examine_lock(const UniqueFd& file, const std::vector<LockIdentity>& locked) {
  if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return {.state = RunnerState::kAlive};
    return {.why = "the file system of its record has no locks"};
  }
  ::flock(file.get(), LOCK_UN);
  if (locked.empty()) return {.why = "its runner has no lock on its record"};
  if (!is_locked_one(identify(file), locked))
    return {.why = "its record is not the file that its runner locked"};
  return {.state = RunnerState::kEnded};
}

}  // namespace proctor
