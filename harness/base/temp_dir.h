// Temporary directories, and the removal of what a test left behind in one. The removal follows no link
// and enters no mount: what a test mounted below its directory belongs to somebody else, who keeps it.
// Directories of our own that cannot be read are made readable first.
//
// All the rest is removed even if something stays, and the error names the first thing that stays. No
// depth of a tree costs more than 64 open directories.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

// The directory or file itself may be a link, which is removed, but no mount. One that does not exist is removed.
Result<void> remove_tree(const std::string& path);

// The same for `name` in a directory that the caller holds open, so that nobody can have led the name elsewhere.
// `shown` is how messages call it.
Result<void> remove_tree_at(int directory, const std::string& name, const std::string& shown);
// Removes everything below the directory `name`; that directory itself stays.
Result<void> empty_directory_at(int directory, const std::string& name, const std::string& shown);

// A directory in another one, if it is neither a link nor a mount. ENOTDIR or ELOOP: it is no directory; EXDEV: it is a
// mount.
Result<UniqueFd> open_directory_here(int directory, const std::string& name, const std::string& shown);

// A new directory that is removed at the end of the scope, with everything in it. Example:
//
//   const TempDir directory;
//   const std::string path = (directory / "proctor.toml").string();
class TempDir {
 public:
  // The directory is made below TMPDIR (/tmp). A test that writes many small files may pass "/dev/shm", which
  // is in memory.
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "proctor-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("failed to make the directory " + name);
    path_ = name;
  }
  ~TempDir() {
    std::error_code left;  // files that another user's process made cannot be removed and stay
    std::filesystem::remove_all(path_, left);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }

  friend std::filesystem::path operator/(const TempDir& directory, std::string_view name) {
    return directory.path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace proctor
