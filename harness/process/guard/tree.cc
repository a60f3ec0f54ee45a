#include "harness/process/guard/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace proctor::guard {
namespace {

std::string read_small_file(const char* path) {
  std::string text;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

// Children hang below the thread that forked them, so every thread is asked.
void append_children(pid_t pid, std::vector<pid_t>& out) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/task", pid);
  DIR* tasks = opendir(path);
  if (tasks == nullptr) return;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    char file[352];
    snprintf(file, sizeof(file), "%s/%s/children", path, entry->d_name);
    const std::string text = read_small_file(file);
    const char* at = text.c_str();
    for (;;) {
      char* end = nullptr;
      const long child = strtol(at, &end, 10);
      if (end == at) break;
      out.push_back(static_cast<pid_t>(child));
      at = end;
    }
  }
  closedir(tasks);
}

pid_t parent_of(pid_t pid) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const std::string text = read_small_file(path);
  const std::size_t after_name = text.rfind(')');
  int parent = 0;
  char state = 0;
  if (after_name == std::string::npos) return 0;
  if (sscanf(text.c_str() + after_name + 1, " %c %d", &state, &parent) != 2) return 0;
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

std::vector<pid_t> descendants(pid_t root) {
  std::vector<pid_t> found;
  append_children(root, found);
  for (std::size_t i = 0; i < found.size(); ++i) append_children(found[i], found);
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
