// A child of ours, started through Boost.Process; what is contained (harness/process) or a rank is started
// elsewhere. It has the descriptors and the environment that it is given and no others, default signal
// dispositions and no blocked signals. Its start does not copy this process: no memory is marked for copying
// (a driver may be writing to it), no handler of pthread_atfork() runs, and a large process pays no more than
// a small one. What fails before its exec comes back as an error.
//
// A ChildProcess that goes kills its child and waits for it: nothing is left. Example:
//
//   ChildSpec spec{.argv = {"sh", "-c", "exit 3"}};
//   Result<ChildProcess> child = ChildProcess::start(spec);
//   if (child) std::printf("%d\n", child->wait().exit_code);  // 3
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

// Our environment, changed: NAME=VALUE sets a variable, NAME alone removes it.
std::vector<std::string> environment_with(const std::vector<std::string>& changes);

// Absolute. A name without a slash is looked for in PATH. Error: it is not there, or nobody may execute it.
Result<std::string> find_program(const std::string& name);

struct ChildSpec {
  std::vector<std::string> argv{};  // the first as find_program takes it
  std::vector<std::string> env = environment_with({});
  std::vector<int> fds = {0, 1, 2};  // what it has as 0, 1, 2, ...; one that is closed here is closed there
  std::string directory{};           // where it starts; empty: where we are
  // It leads a process group, which is killed with it and which ends when it does. It does not outlive the
  // thread that started it: what a terminal sends to us does not reach it.
  bool own_group = false;
  std::optional<std::uint64_t> file_limit{};  // bytes of each file that it writes
};

struct ChildEnd {
  int exit_code = -1;  // -1: it was ended by a signal, or, when that is 0, somebody else waited for it
  int signal = 0;
};

class ChildProcess {
 public:
  static Result<ChildProcess> start(const ChildSpec& spec);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), group_(other.group_), end_fd_(std::move(other.end_fd_)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  // Readable when it has ended; -1 where the kernel has nothing of the kind, so that one has to look.
  int end_fd() const { return end_fd_.get(); }
  void kill(int signal) const;
  ChildEnd wait() { return wait_until(Clock::time_point::max()).value_or(ChildEnd()); }
  // Its end, after which there is nothing of it any more; nothing if that is later. Once.
  std::optional<ChildEnd> wait_until(Clock::time_point deadline);

 private:
  ChildProcess(pid_t pid, bool group);

  pid_t pid_ = 0;  // 0: its end is known
  bool group_ = false;
  UniqueFd end_fd_;
};

}  // namespace proctor
