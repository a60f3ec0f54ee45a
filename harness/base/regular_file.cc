#include "harness/base/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "harness/base/read_file.h"

namespace proctor {
namespace {

Error not_read(const std::string& path, const std::string& why, int err) {
  return {ErrorKind::kSystem, fmt::format("read {}: {}", path, why), "", err};
}

bool is_device(const std::string& path) {
  struct stat info {};
  const bool device = ::lstat(path.c_str(), &info) == 0 && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode));
  errno = EEXIST;
  return device;
}

Result<std::ifstream> stream_of(const Result<UniqueFd>& fd, const std::string& path) {
  if (!fd) return fd.error();
  std::ifstream stream("/proc/self/fd/" + std::to_string(fd->get()), std::ios::binary);
  if (!stream) return Error::system("read " + path, errno);
  return stream;
}

int write_everything(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

Result<UniqueFd> open_regular(const std::string& path, std::uint64_t most) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno == ELOOP) return not_read(path, "it is a link", ELOOP);
  if (!fd && errno == ENXIO) return not_read(path, "it is not a regular file", ENXIO);  // a socket
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return Error::system("read " + path, errno);
  if (S_ISDIR(info.st_mode)) return Error::system("read " + path, EISDIR);
  if (!S_ISREG(info.st_mode)) return not_read(path, "it is not a regular file", EINVAL);
  if (static_cast<std::uint64_t>(info.st_size) > most)
    return not_read(path, fmt::format("it has {} bytes, and at most {} are read", info.st_size, most), EFBIG);
  return fd;
}

Result<std::ifstream> open_regular_stream(const std::string& path, std::uint64_t most) {
  return stream_of(open_regular(path, most), path);
}

Result<std::ifstream> open_file_stream(const std::string& path, std::uint64_t most) {
  return stream_of(open_file(path, most), path);
}

Result<std::string> read_regular(const std::string& path, std::uint64_t most) {
  const auto fd = open_regular(path, most);
  return fd ? read_rest(fd->get(), path, most) : fd.error();
}

// Tries several times, because another process can create entries at the path at any time.
Result<UniqueFd> create_file(const std::string& path, mode_t mode) {
  constexpr int kTries = 10;
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  for (int i = 0; i < kTries; ++i) {
    UniqueFd fd(::open(path.c_str(), kNew, mode));
    if (fd) return fd;
    if (errno != EEXIST || is_device(path)) break;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) break;
  }
  return Error::system("create " + path, errno);
}

Result<void> make_way(const std::string& directory, const std::string& name) {
  for (std::size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
    const std::string at = directory + "/" + name.substr(0, end);
    struct stat info {};
    const bool there = ::lstat(at.c_str(), &info) == 0;
    if (there && S_ISDIR(info.st_mode)) continue;
    if (there && ::unlink(at.c_str()) != 0) return Error::system("remove " + at, errno);
    if (::mkdir(at.c_str(), 0755) != 0 && errno != EEXIST) return Error::system("create " + at, errno);
  }
  return {};
}

Result<void> write_new_file(const std::string& path, std::string_view text, mode_t mode) {
  UniqueFd fd;
  {
    auto created = create_file(path, mode);
    if (!created) return created.error();
    fd = *std::move(created);
  }
  int err = write_everything(fd.get(), text);
  if (::close(fd.release()) != 0 && err == 0) err = errno;
  return err == 0 ? Result<void>() : Error::system("write " + path, err);
}

namespace {

constexpr std::uint64_t kMostProgram = std::uint64_t{16} << 30;

}  // namespace

Result<std::set<std::string_view>> find_texts(const std::string& path,
                                              const std::vector<std::string_view>& texts,
                                              std::string_view beginning) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;  // small, so that the search touches few new pages
  std::set<std::string_view> found;
  auto opened = open_file_stream(path, kMostProgram);
  if (!opened) return opened.error();
  std::ifstream& file = *opened;
  std::size_t longest = 1;
  for (const std::string_view text : texts) longest = std::max(longest, text.size());
  std::vector<char> block(kBlock + longest);
  std::size_t kept = 0;  // bytes kept from the previous block, in which a text can begin
  for (bool first = true; file; first = false) {
    file.read(block.data() + kept, static_cast<std::streamsize>(kBlock));
    const std::size_t size = kept + static_cast<std::size_t>(file.gcount());
    if (first && !std::string_view(block.data(), size).starts_with(beginning)) return found;
    for (const std::string_view text : texts) {
      if (!found.contains(text) && memmem(block.data(), size, text.data(), text.size()) != nullptr)
        found.insert(text);
    }
    kept = std::min(longest, size);
    std::copy_n(block.begin() + static_cast<std::ptrdiff_t>(size - kept), kept, block.begin());
  }
  return found;
}

}  // namespace proctor
