#include "harness/process/terminal.h"

#include <signal.h>
#include <unistd.h>

namespace proctor {

void take_terminal_back() {
  sigset_t ttou;
  sigset_t saved;
  sigemptyset(&ttou);
  sigaddset(&ttou, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &ttou, &saved);
  tcsetpgrp(STDIN_FILENO, getpgrp());
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
}

}  // namespace proctor
