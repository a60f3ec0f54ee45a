#include "harness/core/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace proctor {

Result<std::string> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error::system("open " + path, errno);
  std::string text;
  char buffer[16 * 1024];
  ssize_t got = 0;
  while ((got = read(fd, buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  }
  const int reason = errno;
  close(fd);
  if (got < 0) return Error::system("read " + path, reason);
  return text;
}

std::string read_file_or_empty(const std::string& path) {
  Result<std::string> text = read_file(path);
  return text ? *std::move(text) : std::string();
}

}  // namespace proctor
