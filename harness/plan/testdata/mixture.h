// The cases of the mixture programs (harness/e2e/batch.py). Case number i performs the i-th word of MIXTURE
// in every framework. A case without a word passes.
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

// Performs the word of the case. Returns whether the case passes, unless the process ends before.
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
  // The child continues in the framework.
  if (what == "fork_on" && ::fork() != 0) std::abort();
  // Simulates a leak checker, which changes the exit code at exit.
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
