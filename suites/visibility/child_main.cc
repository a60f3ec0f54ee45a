// The main() of a child of a visibility suite (child.h): enumerates in one mode and writes the result.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/base/argv.h"
#include "suites/main/second_process.h"
#include "suites/visibility/child.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

// Executes this program again in mode enumerate, with an unchanged environment (rule V22).
[[noreturn]] void become_grandchild() {
  const int flags = fcntl(kAnswerFd, F_GETFD);
  fcntl(kAnswerFd, F_SETFD, flags & ~FD_CLOEXEC);
  auto argv = suite::self_command();
  argv.insert(argv.end(), {kChildOption, ".", "enumerate"});
  const auto words = argv_of(argv);
  const pid_t pid = fork();  // No driver is initialised yet.
  if (pid == 0) {
    execv(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) _exit(1);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

bool known(const Arguments& arguments) {
  for (const Mode& mode : modes()) {
    if (!arguments.empty() && arguments[0] == mode.name) return arguments.size() == mode.arguments + 1;
  }
  return false;
}

bool write_answer(const json& document) {
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  for (std::size_t from = 0; from < text.size();) {
    const ssize_t written = write(kAnswerFd, text.data() + from, text.size() - from);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += static_cast<std::size_t>(written);
  }
  return close(kAnswerFd) == 0;
}

}  // namespace

int child_main(int argc, char** argv) {
  const Arguments arguments(argv + std::min(argc, 1), argv + argc);
  if (!known(arguments)) {
    std::cerr << "unknown mode of " << kChildOption << "\n";
    return 2;
  }
  if (chdir(argv[0]) != 0) {
    std::cerr << "failed to change to " << argv[0] << ": " << std::strerror(errno) << "\n";
    return 2;
  }
  const rlimit no_core{0, 0};  // an expected crash must not leave a core file
  setrlimit(RLIMIT_CORE, &no_core);
  // A crash of the driver must end the process by its signal, also if a sanitizer of this build handles the
  // signal.
  for (const int fatal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) signal(fatal, SIG_DFL);
  fcntl(kAnswerFd, F_SETFD, FD_CLOEXEC);
  if (arguments[0] == "grandchild") become_grandchild();

  const bool written = write_answer(answer_of(arguments));
  char byte = 0;
  if (arguments[0] == "hold")
    while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  _exit(written ? 0 : 1);
}

}  // namespace proctor::visibility
