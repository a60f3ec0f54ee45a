// Starts this program as a second process, in which no driver is loaded yet. It is not a fork, because no
// driver survives a fork. Answers come on its descriptor 3, orders go to its stdin. It inherits stdout and
// stderr, and no other descriptor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/child_process.h"
#include "harness/base/clock.h"
#include "harness/base/unique_fd.h"

namespace proctor::suite {

inline constexpr int kAnswerFd = 3;  // in the second process

// How it ended.
struct SecondProcessEnd {
  int signal = 0;  // 0: it exited
  int exit_code = 0;
  bool hung = false;   // it was killed after the deadline
  std::string rest{};  // of its answers
};

class SecondProcess {
 public:
  // `words` follow the command of this program (self_command()). If it cannot be started, the check ends as
  // fail(setup).
  SecondProcess(const std::vector<std::string>& words, const std::vector<std::string>& environment);

  // The next line of its answers; nullopt: they ended, or the deadline passed.
  std::optional<std::string> line(Clock::time_point deadline);
  // The rest of its answers; nullopt: they did not end in time.
  std::optional<std::string> rest(Clock::time_point deadline);
  void order(const std::string& line);
  void kill();  // and waits for the end
  // Closes its stdin, and waits for the end of its answers and of the process.
  SecondProcessEnd finish(Clock::time_point deadline);

 private:
  enum class Heard { kText, kEnd, kNothing };
  Heard hear(Clock::time_point deadline);

  UniqueFd answers_;
  UniqueFd orders_;
  std::string text_;  // read and not yet returned
  std::optional<ChildProcess> child_;
};

// The command that starts this program as a second process.

// The words before its arguments, the first an absolute path: [PROGRAM]. If the runner started the program
// through a dynamic loader, that loader and its options precede it.
std::vector<std::string> self_command();

}  // namespace proctor::suite
