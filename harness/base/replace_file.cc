#include "harness/base/replace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "harness/base/user_name.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

std::optional<uid_t> trusted_user() {
  const char* text = std::getenv(kTrustUserVariable);
  uid_t user = 0;
  if (text == nullptr) return std::nullopt;
  const std::string_view number = text;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), user);
  return error == std::errc() && end == number.data() + number.size() ? std::optional(user) : std::nullopt;
}

Error not_roots(const std::string& directory, const std::string& at, uid_t owner) {
  return Error::usage(
      fmt::format("write in {} as root: {} belongs to {}, and that user could redirect the files", directory,
                  at == directory ? "it" : at, user_name(owner)),
      fmt::format("Run the command as that user. To trust the directory as root, set {}={}.",
                  kTrustUserVariable, owner));
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string draft_name(const std::string& name) {
  std::uint64_t random = 0;
  static_cast<void>(!::getrandom(&random, sizeof random, 0));
  return fmt::format(".{}.{:016x}", name.substr(0, 200), random);
}

}  // namespace

bool is_of_the_kernel(const std::string& path) {
  const std::string plain = fs::path(path).lexically_normal().string();
  if (plain.starts_with("/proc/")) return true;
  if (!plain.starts_with("/dev/")) return false;
  const std::string name = plain.substr(5);
  return name.find('/') == std::string::npos || name.starts_with("fd/") || name.starts_with("pts/");
}

Result<void> check_owner_of(const std::string& directory) {
  if (::geteuid() != 0) return {};
  std::error_code error;
  const fs::path real = fs::canonical(directory, error);
  if (error) return Error::system("look at " + directory, error.value());
  // Checks the path with its links, and the real path.
  for (const fs::path& path : {fs::absolute(directory, error), real}) {
    for (fs::path at = path;; at = at.parent_path()) {
      struct stat info {};
      if (::lstat(at.c_str(), &info) != 0) return Error::system("look at " + at.string(), errno);
      if (!is_roots(info.st_uid) && info.st_uid != trusted_user())
        return not_roots(directory, at.string(), info.st_uid);
      if (at == at.parent_path()) break;
    }
  }
  return {};
}

FileReplacement::FileReplacement(std::string path, UniqueFd directory, std::string draft, UniqueFd fd)
    : path_(std::move(path)),
      directory_(std::move(directory)),
      draft_(std::move(draft)),
      fd_(std::move(fd)) {}

Result<FileReplacement> FileReplacement::open(const std::string& path) {
  if (is_of_the_kernel(path)) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (!fd) return Error::system("write " + path, errno);
    return FileReplacement(path, {}, "", std::move(fd));
  }
  const fs::path file(path);
  const std::string parent = file.has_parent_path() ? file.parent_path().string() : ".";
  UniqueFd directory(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return Error::system("write " + path, errno);
  if (auto ours = check_owner_of(parent); !ours) return ours.error();
  const std::string draft = draft_name(file.filename().string());
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(::openat(directory.get(), draft.c_str(), kNew, 0644));
  if (!fd) return Error::system("write " + path, errno);
  return FileReplacement(path, std::move(directory), draft, std::move(fd));
}

FileReplacement::~FileReplacement() {
  if (fd_ && !draft_.empty()) ::unlinkat(directory_.get(), draft_.c_str(), 0);
}

void FileReplacement::add(std::string_view piece) {
  if (err_ == 0) err_ = write_all(fd_.get(), piece);
}

Result<void> FileReplacement::added() const {
  return err_ == 0 ? Result<void>() : Error::system("write " + path_, err_);
}

Result<void> FileReplacement::put() {
  if (::close(fd_.release()) != 0 && err_ == 0) err_ = errno;
  const std::string name = fs::path(path_).filename().string();
  if (err_ == 0 && !draft_.empty() &&
      ::renameat(directory_.get(), draft_.c_str(), directory_.get(), name.c_str()) != 0)
    err_ = errno;
  if (err_ == 0) return {};
  if (!draft_.empty()) ::unlinkat(directory_.get(), draft_.c_str(), 0);
  return Error::system("write " + path_, err_);
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  auto file = FileReplacement::open(path);
  if (!file) return file.error();
  file->add(text);
  return file->put();
}

}  // namespace proctor
