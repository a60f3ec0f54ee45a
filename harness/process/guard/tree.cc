#include "harness/process/guard/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace proctor::guard {
namespace {

// Records a failed read. A process that has ended is not a failure: it has no children.
void note_failure(PidList& out) {
  if (errno != ENOENT && errno != ESRCH) out.miss(errno);
}

// Reads a file of decimal pids, each followed by a blank.
void append_pids(int fd, PidList& out) {
  pid_t pid = 0;
  char buffer[4096];
  off_t at = 0;
  for (;;) {
    const ssize_t got = pread(fd, buffer, sizeof(buffer), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) note_failure(out);
    if (got <= 0) return;
    at += got;
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        pid = pid * 10 + (buffer[i] - '0');
      } else if (pid != 0) {
        out.push(pid);
        pid = 0;
      }
    }
  }
}

// Offsets in an entry of getdents64(2): the length is at 16, and the name at 19. readdir() is not usable
// here, because it allocates memory.
constexpr long kLengthAt = 16;
constexpr long kNameAt = 19;

template <typename Use>
void for_each_thread(pid_t pid, PidList& out, Use use) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/task", pid);
  const int tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return note_failure(out);
  char entries[2048];
  long got = 0;
  while ((got = syscall(SYS_getdents64, tasks, entries, sizeof(entries))) > 0) {
    for (long at = 0; at < got;) {
      const int thread = atoi(entries + at + kNameAt);
      if (thread > 0) use(thread);
      uint16_t length = 0;
      memcpy(&length, entries + at + kLengthAt, sizeof(length));
      at += length;
    }
  }
  if (got < 0) note_failure(out);
  close(tasks);
}

// The kernel lists children below the thread that forked them, so this function reads the list of every thread.
void append_children(pid_t pid, PidList& out) {
  for_each_thread(pid, out, [pid, &out](pid_t thread) {
    char file[64];
    snprintf(file, sizeof(file), "/proc/%d/task/%d/children", pid, thread);
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return note_failure(out);
    append_pids(fd, out);
    close(fd);
  });
}

// Reads field 4 of stat. The name in field 2 (at most 64 bytes) may itself contain parentheses and blanks.
pid_t parent_of(pid_t pid) {
  char text[256];
  snprintf(text, sizeof(text), "/proc/%d/stat", pid);
  const int fd = open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* after_name = strrchr(text, ')');
  int parent = 0;
  char state = 0;
  if (after_name == nullptr || sscanf(after_name + 1, " %c %d", &state, &parent) != 2) return 0;
  return parent;
}

bool is_descendant(pid_t pid, pid_t root) {
  for (int depth = 0; depth < 4096 && pid > 1; ++depth) {
    pid = parent_of(pid);
    if (pid == root) return true;
  }
  return false;
}

}  // namespace

void PidList::push(pid_t pid) {
  if (size_ == capacity_) {
    if (!grows_) return miss(ENOMEM);
    const size_t wanted = capacity_ == 0 ? 64 : 2 * capacity_;
    auto* grown = static_cast<pid_t*>(realloc(pids_, wanted * sizeof(pid_t)));
    if (grown == nullptr) return miss(ENOMEM);
    pids_ = grown;
    capacity_ = wanted;
  }
  pids_[size_++] = pid;
}

int open_children(pid_t pid) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
  return open(path, O_RDONLY | O_CLOEXEC);
}

PidList read_children(int children_fd) {
  PidList found;
  append_pids(children_fd, found);
  return found;
}

PidList descendants(pid_t root, int children_fd, PidList found) {
  if (children_fd >= 0) {
    append_pids(children_fd, found);
  } else {
    append_children(root, found);
  }
  for (size_t i = 0; i < found.size(); ++i) append_children(found[i], found);
  return found;
}

void append_threads(pid_t pid, PidList& out) {
  for_each_thread(pid, out, [&out](pid_t thread) { out.push(thread); });
}

void signal_descendants(pid_t root, int signal, int children_fd, PidList memory) {
  const PidList found = descendants(root, children_fd, static_cast<PidList&&>(memory));
  for (const pid_t pid : found) {
    if (is_own_child(pid)) {
      kill(pid, signal);
      continue;
    }
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (pidfd < 0) {
      // If pidfds are refused, the pid could be reused between reading and sending, a window of a few microseconds.
      if (errno == ENOSYS || errno == EPERM) kill(pid, signal);
      continue;
    }
    if (is_descendant(pid, root)) (void)syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
    close(pidfd);
  }
}

bool is_own_child(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace proctor::guard
