#include "harness/process/guard/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace proctor::guard {
namespace {

// The file holds decimal pids, each followed by a blank.
void append_pids(const char* path, PidList& out) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  pid_t pid = 0;
  char buffer[4096];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof(buffer))) > 0) {
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        pid = pid * 10 + (buffer[i] - '0');
      } else if (pid != 0) {
        out.push(pid);
        pid = 0;
      }
    }
  }
  close(fd);
}

// Children hang below the thread that forked them, so every thread is asked.
void append_children(pid_t pid, PidList& out) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/task", pid);
  DIR* tasks = opendir(path);
  if (tasks == nullptr) return;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    char file[352];
    snprintf(file, sizeof(file), "%s/%s/children", path, entry->d_name);
    append_pids(file, out);
  }
  closedir(tasks);
}

struct Stat {
  char state = 0;
  int parent = 0;
};

// Fields 3 and 4 of stat; the name in field 2 (at most 64 bytes) may itself hold parentheses and blanks.
Stat stat_of(pid_t pid) {
  char text[256];
  snprintf(text, sizeof(text), "/proc/%d/stat", pid);
  const int fd = open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (got <= 0) return {};
  text[got] = '\0';
  const char* after_name = strrchr(text, ')');
  Stat stat;
  if (after_name == nullptr || sscanf(after_name + 1, " %c %d", &stat.state, &stat.parent) != 2) return {};
  return stat;
}

bool is_descendant(pid_t pid, pid_t root) {
  for (int depth = 0; depth < 4096 && pid > 1; ++depth) {
    pid = stat_of(pid).parent;
    if (pid == root) return true;
  }
  return false;
}

}  // namespace

char process_state(pid_t pid) { return stat_of(pid).state; }

void PidList::push(pid_t pid) {
  if (size_ == capacity_) {
    const size_t wanted = capacity_ == 0 ? 64 : 2 * capacity_;
    auto* grown = static_cast<pid_t*>(realloc(pids_, wanted * sizeof(pid_t)));
    if (grown == nullptr) return;
    pids_ = grown;
    capacity_ = wanted;
  }
  pids_[size_++] = pid;
}

PidList descendants(pid_t root) {
  PidList found;
  append_children(root, found);
  for (size_t i = 0; i < found.size(); ++i) append_children(found[i], found);
  return found;
}

void signal_descendants(pid_t root, int signal) {
  for (const pid_t pid : descendants(root)) {
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (pidfd < 0) {
      // Without pidfds the window between reading and sending stays open; it is a few microseconds.
      if (errno == ENOSYS || errno == EPERM) kill(pid, signal);
      continue;
    }
    if (is_descendant(pid, root)) (void)syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
    close(pidfd);
  }
}

}  // namespace proctor::guard
