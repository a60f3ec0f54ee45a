#include "harness/runner/machine/scratch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "harness/base/temp_dir.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

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

std::string random_name() {
  std::uint64_t random = 0;
  static_cast<void>(!::getrandom(&random, sizeof random, 0));
  return fmt::format("{:016x}", random);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<std::unique_ptr<ScratchRoot>> ScratchRoot::create() {
  auto disk = make_held_directory(base_directory(), kRunScratch);
  if (!disk) return disk.error();
  auto memory = is_memory(kMemory) ? make_held_directory(kMemory, kRunScratch) : HeldDirectory{};
  return std::unique_ptr<ScratchRoot>(
      new ScratchRoot(std::move(*disk), memory ? std::move(*memory) : HeldDirectory{}));
}

ScratchRoot::~ScratchRoot() {
  for (const auto& path : paths()) {
    if (const auto removed = remove_tree(path); !removed)
      std::fprintf(stderr, "proctor: failed to %s\n", clean_text(removed.error().what).c_str());
  }
}

std::vector<std::string> ScratchRoot::paths() const {
  return memory_.path.empty() ? std::vector{disk_.path} : std::vector{disk_.path, memory_.path};
}

const HeldDirectory& ScratchRoot::root_of(const std::string& directory) const {
  return !memory_.path.empty() && directory.starts_with(memory_.path + "/") ? memory_ : disk_;
}

std::string ScratchRoot::new_file_name() {
  return (memory_.path.empty() ? disk_ : memory_).path + "/" + random_name();
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
  std::string path = disk_.path + "/" + std::to_string(next_++);
  if (::mkdir(path.c_str(), 0700) != 0) return Error::system("create scratch directory " + path, errno);
  return path;
}

Result<void> ScratchRoot::give_back(const std::string& directory) {
  const UniqueFd& root = root_of(directory).fd;
  const std::string name = name_of(directory);
  struct stat info {};
  // A case may have removed or replaced the directory.
  const bool intact =
      ::fstatat(root.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
  if (!intact) return remove(directory);
  if (auto emptied = empty_directory_at(root.get(), name, directory); !emptied) return emptied;
  if (::fchmodat(root.get(), name.c_str(), 0700, 0) != 0)
    return Error::system("make " + directory + " private", errno);
  free_directories_.push_back(directory);
  return {};
}

Result<void> ScratchRoot::remove(const std::string& directory) {
  return remove_tree_at(root_of(directory).fd.get(), name_of(directory), directory);
}

}  // namespace proctor
