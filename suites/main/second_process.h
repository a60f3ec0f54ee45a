// This program, started again as a second process: nothing of a driver is loaded there yet, and it is never a
// copy of this one, because no driver survives a fork. Its answers come on descriptor 3, orders go to its
// standard input; it has our standard output and error, and no other descriptor of ours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/child_process.h"
#include "harness/core/clock.h"
#include "harness/core/unique_fd.h"

namespace proctor::suite {

inline constexpr int kAnswerFd = 3;  // there

// How it ended. One that was late was killed.
struct SecondProcessEnd {
  int signal = 0;  // 0: it exited
  int exit_code = 0;
  bool hung = false;
  std::string rest{};  // of its answers
};

class SecondProcess {
 public:
  // `words` follow those that start this program (self.h). When it cannot be started, the check ends, as
  // fail(setup).
  SecondProcess(const std::vector<std::string>& words, const std::vector<std::string>& environment);

  // The next line of its answers, or nothing when they ended first or the deadline came.
  std::optional<std::string> line(Clock::time_point deadline);
  // All that is still to come, or nothing when that did not end in time.
  std::optional<std::string> rest(Clock::time_point deadline);
  void order(const std::string& line);
  void kill();  // and waits
  // No more orders: waits for the end of its answers, then for its own.
  SecondProcessEnd finish(Clock::time_point deadline);

 private:
  enum class Heard { kText, kEnd, kNothing };
  Heard hear(Clock::time_point deadline);

  UniqueFd answers_;
  UniqueFd orders_;
  std::string text_;  // heard and not yet given out
  std::optional<ChildProcess> child_;
};

}  // namespace proctor::suite
