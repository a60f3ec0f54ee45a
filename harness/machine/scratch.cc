#include "harness/machine/scratch.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMemory = "/dev/shm";
constexpr std::size_t kMaxBase = 12;  // so that BASE/pr-XXXXXX/NNNNNNN has at most 30 characters

bool is_memory(const char* path) {
  struct statfs info {};
  return ::statfs(path, &info) == 0 && info.f_type == TMPFS_MAGIC;
}

std::string base_directory() {
  const char* tmpdir = std::getenv("TMPDIR");
  const std::string wanted = tmpdir ? tmpdir : "";
  return wanted.empty() || wanted.front() != '/' || wanted.size() > kMaxBase ? "/tmp" : wanted;
}

// A test may leave directories without permissions behind; only a root test can leave any that are not ours.
void open_up_one(const fs::path& directory) {
  std::error_code ignored;  // what cannot be opened up cannot be emptied, and that is reported
  fs::permissions(directory, fs::perms::owner_all, fs::perm_options::add | fs::perm_options::nofollow,
                  ignored);
}

void open_up(const fs::path& directory) {
  open_up_one(directory);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) open_up(entry.path());
  }
}

}  // namespace

Result<void> remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error == std::errc::permission_denied) {
    open_up(path);
    error.clear();
    fs::remove_all(path, error);
  }
  if (error) return Error::system("remove " + path, error.value());
  return {};
}

Result<void> empty_directory(const std::string& path) {
  open_up_one(path);
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (auto removed = remove_tree(entry->path().string()); !removed) return removed;
  }
  if (error) return Error::system("empty " + path, error.value());
  return {};
}

Result<std::unique_ptr<ScratchRoot>> ScratchRoot::create() {
  std::string path = base_directory() + "/pr-XXXXXX";
  if (!::mkdtemp(path.data())) return Error::system("create scratch directory " + path, errno);
  std::string memory = std::string(kMemory) + "/pr-XXXXXX";
  if (!is_memory(kMemory) || !::mkdtemp(memory.data())) memory.clear();
  return std::unique_ptr<ScratchRoot>(new ScratchRoot(std::move(path), std::move(memory)));
}

ScratchRoot::~ScratchRoot() {
  for (const auto& path : paths()) static_cast<void>(remove_tree(path));
}

std::vector<std::string> ScratchRoot::paths() const {
  return memory_.empty() ? std::vector{path_} : std::vector{path_, memory_};
}

std::string ScratchRoot::new_file_name() {
  return (memory_.empty() ? path_ : memory_) + "/" + std::to_string(next_++);
}

Result<std::string> ScratchRoot::new_directory() {
  std::string path = new_file_name();
  if (::mkdir(path.c_str(), 0700) != 0) return Error::system("create scratch directory " + path, errno);
  return path;
}

Result<std::string> ScratchRoot::lease_directory() {
  if (!free_directories_.empty()) {
    std::string path = std::move(free_directories_.back());
    free_directories_.pop_back();
    return path;
  }
  std::string path = path_ + "/" + std::to_string(next_++);
  if (::mkdir(path.c_str(), 0700) != 0) return Error::system("create scratch directory " + path, errno);
  return path;
}

Result<void> ScratchRoot::give_back(const std::string& directory) {
  struct stat info {};
  // A case may have removed it, or put something else in its place.
  const bool intact = ::lstat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (!intact) return remove_tree(directory);
  if (auto emptied = empty_directory(directory); !emptied) return emptied;
  if (::chmod(directory.c_str(), 0700) != 0) return Error::system("make " + directory + " private", errno);
  free_directories_.push_back(directory);
  return {};
}

}  // namespace proctor
