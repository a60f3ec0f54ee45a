#include "harness/core/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "harness/core/unique_fd.h"

namespace proctor {

namespace {

constexpr std::size_t kLeast = 16 * 1024;
constexpr std::size_t kMost = 16 * 1024 * 1024;

// What fstat() says, and a byte for the end, so that most files take two reads. It is a first guess only: files below
// /proc say 0, others grow meanwhile, and one full of holes says terabytes.
std::size_t expected_size(int fd) {
  struct stat info {};
  const bool known = ::fstat(fd, &info) == 0 && info.st_size > 0;
  return known ? std::min(static_cast<std::size_t>(info.st_size) + 1, kMost) : kLeast;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return Error::system("open " + path, errno);
  std::string text(expected_size(fd.get()), '\0');
  std::size_t size = 0;
  while (true) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::system("read " + path, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size == text.size()) text.resize(size + std::max(size, kLeast));
  }
  text.resize(size);
  return text;
}

std::string read_file_or_empty(const std::string& path) {
  Result<std::string> text = read_file(path);
  return text ? *std::move(text) : std::string();
}

}  // namespace proctor
