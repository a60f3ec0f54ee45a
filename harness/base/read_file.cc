#include "harness/base/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace proctor {

namespace {

constexpr std::size_t kLeast = 16 * 1024;
constexpr std::size_t kMostAtFirst = 16 * 1024 * 1024;

Error unreadable(const std::string& path, const std::string& why, int err) {
  return {ErrorKind::kSystem, fmt::format("read {}: {}", path, why), "", err};
}

// Returns a first buffer size: the size of the file, and one byte to detect the end. Most files then need two
// reads. The size is only an estimate. Files below /proc report 0, other files can grow, and a sparse file
// can report terabytes.
std::size_t expected_size(int fd) {
  struct stat info {};
  const bool known = ::fstat(fd, &info) == 0 && info.st_size > 0;
  return known ? std::min(static_cast<std::size_t>(info.st_size) + 1, kMostAtFirst) : kLeast;
}

}  // namespace

Result<std::string> read_rest(int fd, const std::string& path, std::uint64_t most) {
  std::string text(expected_size(fd), '\0');
  std::size_t size = 0;
  while (size <= most) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::system("read " + path, errno);
    if (got == 0) {
      text.resize(size);
      return text;
    }
    size += static_cast<std::size_t>(got);
    if (size == text.size()) text.resize(size + std::max(size, kLeast));
  }
  return unreadable(path, fmt::format("it grew beyond {} bytes", most), EFBIG);
}

Result<UniqueFd> open_file(const std::string& path, std::uint64_t most) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno != ENXIO) return Error::system("open " + path, errno);
  struct stat info {};
  if (fd && ::fstat(fd.get(), &info) != 0) return Error::system("read " + path, errno);
  if (fd && S_ISDIR(info.st_mode)) return Error::system("read " + path, EISDIR);
  if (!fd || !S_ISREG(info.st_mode)) return unreadable(path, "it is not a regular file", EINVAL);
  if (static_cast<std::uint64_t>(info.st_size) > most)
    return unreadable(path, fmt::format("it has {} bytes, and at most {} are read", info.st_size, most),
                      EFBIG);
  return fd;
}

Result<std::string> read_file(const std::string& path, std::uint64_t most) {
  const auto fd = open_file(path, most);
  return fd ? read_rest(fd->get(), path, most) : fd.error();
}

std::string read_file_or_empty(const std::string& path) {
  Result<std::string> text = read_file(path);
  return text ? *std::move(text) : std::string();
}

}  // namespace proctor
