// A child for the tests: it says "up" on stdout and then waits until this object is gone.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

extern char** environ;

namespace proctor {

class WaitingChild {
 public:
  explicit WaitingChild(std::vector<std::string> words) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const bool started = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ) == 0;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    char byte = 0;
    while (started && ::read(pipe[0], &byte, 1) == 1) said_ += byte;
    ::close(pipe[0]);
    if (!started) pid_ = 0;
  }
  ~WaitingChild() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;

  int pid() const { return pid_; }
  // Everything that it wrote until it closed its stdout.
  const std::string& said() const { return said_; }

 private:
  pid_t pid_ = 0;
  std::string said_;
};

}  // namespace proctor
