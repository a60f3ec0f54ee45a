// What the cases of a mixture do (harness/e2e/batch.py): case number i does the i-th word of MIXTURE, whatever its
// framework. A case without a word passes.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>

namespace mixture {

inline constexpr int kCases = 12;

inline std::string word(int number) {
  const char* words = std::getenv("MIXTURE");
  std::istringstream stream(words != nullptr ? words : "");
  std::string found = "pass";
  for (int i = 0; i <= number; ++i) {
    if (!(stream >> found)) return "pass";
  }
  return found;
}

// Whether it passes, if it comes back.
inline bool act(int number) {
  static bool poisoned = false;
  static int halves = 0;
  const std::string what = word(number);
  if (what == "crash") std::abort();
  if (what == "hang") {
    for (;;) ::pause();
  }
  if (what == "exit0") ::_exit(0);
  if (what == "exit3") ::_exit(3);
  if (what == "fork") {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    return ::waitpid(child, nullptr, 0) == child;
  }
  // Its child runs on through the framework.
  if (what == "fork_on" && ::fork() != 0) std::abort();
  // As of a leak that is reported at exit.
  if (what == "dirty") std::atexit([] { ::_exit(66); });
  if (what == "poison") poisoned = true;
  if (what == "half") ++halves;
  if (what == "needs2") return halves == 2;
  if (what == "hates2") return halves != 2;
  if (what == "needs") return poisoned;
  if (what == "hates") return !poisoned;
  return what != "fail";
}

}  // namespace mixture
