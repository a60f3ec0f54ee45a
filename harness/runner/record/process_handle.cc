#include "harness/runner/record/process_handle.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "harness/base/clock.h"
#include "harness/process/strays.h"

namespace proctor {
namespace {

constexpr auto kPollWithoutPidfd = std::chrono::milliseconds(20);  // only without a pidfd

// A /proc of another PID namespace shows other processes under these pids.
bool has_own_proc() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self", error) == std::to_string(::getpid());
}

}  // namespace

// What has ended has ended also where nobody reaps it, as below an idle PID 1 in a container.
std::uint64_t start_time_of(int pid) {
  const auto stat = read_stat(pid);
  return stat && !has_ended(*stat) ? stat->start_time : 0;
}

// The identity is read after the process is held: before, it could end in between and
// leave its pid to another.
std::optional<ProcessHandle> ProcessHandle::open(int pid, std::uint64_t start_time) {
  if (pid <= 0 || start_time == 0) return std::nullopt;  // 0 and below are groups to kill(2)
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd && errno != ENOSYS && errno != EPERM) return std::nullopt;
  if (!has_own_proc() || start_time_of(pid) != start_time) return std::nullopt;
  return ProcessHandle(pid, start_time, std::move(pidfd));
}

bool ProcessHandle::wait_until_gone(Milliseconds limit) const {
  const auto give_up = Clock::now() + limit;
  for (;;) {
    if (gone()) return true;
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
  if (gone()) return {};
  const long sent =
      pidfd_ ? ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) : ::kill(pid_, number);
  if (sent == 0 || errno == ESRCH) return {};
  return Error::system("signal process " + std::to_string(pid_), errno);
}

}  // namespace proctor
