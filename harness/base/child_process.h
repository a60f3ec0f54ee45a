// A child process, started through Boost.Process. It has only the file descriptors and the environment
// variables of its ChildSpec. It starts with default signal dispositions and without blocked signals.
// Contained processes (harness/process) and ranks are not started here.
//
// The start does not fork the address space. No memory is marked for copy-on-write, which matters because a
// driver can be writing to it. No handler of pthread_atfork() runs. The cost does not depend on the size of
// this process. A step that fails before the exec is returned as an error.
//
// The destructor of ChildProcess kills the child and waits for it. Example:
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

// Returns the environment of this process with changes: NAME=VALUE sets a variable, NAME alone removes it.
std::vector<std::string> environment_with(const std::vector<std::string>& changes);

// Returns the absolute path of a program. A name without a slash is searched in PATH. Error: the file does
// not exist or is not executable.
Result<std::string> find_program(const std::string& name);

// The parameters of a child process.
struct ChildSpec {
  std::vector<std::string> argv{};  // argv[0] is a path or a name, as for find_program()
  std::vector<std::string> env = environment_with({});
  std::vector<int> fds = {0, 1, 2};  // the child's descriptors 0, 1, 2, ...; a closed one stays closed
  std::string directory{};           // working directory; empty: that of this process
  // The child leads a process group. The group is killed when the child ends or is killed. The child does not
  // outlive the thread that started it. Signals of the terminal reach this process but not the child.
  bool own_group = false;
  std::optional<std::uint64_t> file_limit{};  // limit for each file that the child writes, in bytes
};

// The exit code or the signal of a child.
struct ChildEnd {
  int exit_code = -1;  // -1: a signal ended the child; if `signal` is 0, other code has waited for it
  int signal = 0;
};

// A running child, which the destructor kills and reaps.
class ChildProcess {
 public:
  static Result<ChildProcess> start(const ChildSpec& spec);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), group_(other.group_), end_fd_(std::move(other.end_fd_)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  // Returns a pidfd, which is readable when the child has ended. Returns -1 if the kernel has no pidfds: the
  // caller must poll.
  int end_fd() const { return end_fd_.get(); }
  void kill(int signal) const;
  ChildEnd wait() { return wait_until(Clock::time_point::max()).value_or(ChildEnd()); }
  // Waits for the end of the child, reaps the child and returns its end. Returns nothing at the deadline. The
  // end is returned once.
  std::optional<ChildEnd> wait_until(Clock::time_point deadline);

 private:
  ChildProcess(pid_t pid, bool group);

  pid_t pid_ = 0;  // 0: the child has been reaped
  bool group_ = false;
  UniqueFd end_fd_;
};

}  // namespace proctor
