// Starts this program as a second process, in which no driver is loaded yet. helper.h uses it. The process is not
// a fork, because no driver survives a fork. It writes results to descriptor 3 and reads orders from stdin. It
// inherits stdout and stderr, and no other descriptor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/child_process.h"
#include "harness/base/clock.h"
#include "harness/base/unique_fd.h"

namespace proctor::suite {

inline constexpr int kAnswerFd = 3;  // the descriptor of results, in the second process

// The way in which the process ended.
struct SecondProcessEnd {
  int signal = 0;  // 0: the process exited by itself
  int exit_code = 0;
  bool hung = false;   // true if it was killed after the deadline
  std::string rest{};  // the output that was not yet returned
};

// The process, seen from its parent.
class SecondProcess {
 public:
  // `words` follow the command of this program (self_command()). If the process cannot be started, the check ends
  // as fail(setup).
  SecondProcess(const std::vector<std::string>& words, const std::vector<std::string>& environment);

  // The next line of output; nullopt: the output ended, or the deadline passed.
  std::optional<std::string> line(Clock::time_point deadline);
  // The remaining output; nullopt: the output did not end in time.
  std::optional<std::string> rest(Clock::time_point deadline);
  void order(const std::string& line);
  void kill();  // sends SIGKILL and waits for the end
  // Closes the stdin of the process, then waits for the end of its output and of the process.
  SecondProcessEnd finish(Clock::time_point deadline);

 private:
  enum class Reply { kText, kEnd, kNothing };
  Reply wait_for_reply(Clock::time_point deadline);

  UniqueFd answers_;
  UniqueFd orders_;
  std::string text_;  // read and not yet returned
  std::optional<ChildProcess> child_;
};

// The command that starts this program as a second process.

// The words before the arguments, the first an absolute path: [PROGRAM]. If the runner started the program through
// a dynamic loader, that loader and its options precede it.
std::vector<std::string> self_command();

}  // namespace proctor::suite
