#include "harness/base/named_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using PipeClock = std::chrono::steady_clock;

std::vector<std::string> sibling_names(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code ignored;  // an unreadable directory gives no suggestion
  const auto parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Error usage_error(const std::string& path, int err) {
  Error error = Error::system("read " + path, err);
  error.kind = ErrorKind::kUsage;
  const fs::path asked(path);
  const std::string near = err == ENOENT ? near_miss(asked.filename().string(), sibling_names(asked)) : "";
  if (!near.empty()) error.hint = fmt::format("Did you mean `{}`?", (asked.parent_path() / near).string());
  return error;
}

Error too_long(const std::string& path, std::uint64_t most) {
  return most % (1U << 20) == 0 ? Error::refused(fmt::format("{} is longer than {} MiB", path, most >> 20))
                                : Error::refused(fmt::format("{} is longer than {} bytes", path, most));
}

// Returns whether bytes or the end of the file are available. A FIFO that no process has opened for writing
// has neither.
bool is_ready(int fd, PipeClock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - PipeClock::now()).count();
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready != 0 && (ready > 0 || errno != EINTR)) return true;
    if (ready == 0) return false;
  }
}

Result<std::string> read_pipe(int fd, const std::string& path, std::uint64_t most,
                              std::chrono::milliseconds wait) {
  const auto deadline = PipeClock::now() + wait;
  std::array<char, 16 * 1024> piece;
  std::string text;
  while (text.size() <= most) {
    if (!is_ready(fd, deadline) || PipeClock::now() > deadline) {
      return Error::refused(fmt::format("{} is a pipe that did not end within {} s", path,
                                        static_cast<double>(wait.count()) / 1000),
                            "Write its output to a file first.");
    }
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return usage_error(path, errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return too_long(path, most);
}

Result<std::string> read_named(const std::string& path, std::uint64_t most,
                               const std::chrono::milliseconds* wait) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno != ENXIO) return usage_error(path, errno);  // ENXIO: a socket, or a missing device
  struct stat info {};
  if (fd && ::fstat(fd.get(), &info) != 0) return usage_error(path, errno);
  if (fd && S_ISDIR(info.st_mode)) return Error::refused(fmt::format("{} is a directory, not a file", path));
  if (fd && S_ISFIFO(info.st_mode) && wait != nullptr) return read_pipe(fd.get(), path, most, *wait);
  if (!fd || !S_ISREG(info.st_mode))
    return Error::refused(path + " is not a regular file" + (wait != nullptr ? " or a pipe" : ""));
  if (static_cast<std::uint64_t>(info.st_size) > most) return too_long(path, most);
  auto text = read_rest(fd.get(), path, most);
  if (!text && text.error().sys_errno == EFBIG) return too_long(path, most);
  return text ? std::move(text) : usage_error(path, text.error().sys_errno);
}

}  // namespace

Result<std::string> read_typed_file(const std::string& path, std::uint64_t most,
                                    std::chrono::milliseconds wait) {
  return read_named(path, most, &wait);
}

Result<std::string> read_found_file(const std::string& path, std::uint64_t most) {
  return read_named(path, most, nullptr);
}

}  // namespace proctor
