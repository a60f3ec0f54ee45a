// Creates temporary directories and removes directory trees that tests leave behind. The removal follows no
// link and enters no mount. A file system that a test mounted below its directory is not this code's to
// delete. Unreadable directories of this user are made readable first.
//
// If an entry cannot be removed, the removal continues with the others. The error contains the first entry
// that stays. The removal never holds more than 64 directories open, whatever the depth of the tree.
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

// Removes a file or a directory tree. `path` may be a link, which is removed itself, but not a mount. A
// missing path is not an error.
Result<void> remove_tree(const std::string& path);

// Removes `name` in an open directory. No other process can redirect the path of that directory. Messages use
// the path `shown`.
Result<void> remove_tree_at(int directory, const std::string& name, const std::string& shown);
// Removes everything below the directory `name`. That directory itself stays.
Result<void> empty_directory_at(int directory, const std::string& name, const std::string& shown);

// Opens a directory in another one, if it is neither a link nor a mount. ENOTDIR or ELOOP: it is not a
// directory. EXDEV: it is a mount.
Result<UniqueFd> open_directory_here(int directory, const std::string& name, const std::string& shown);

// A new directory that is removed with its contents at the end of the scope. Example:
//
//   const TempDir directory;
//   const std::string path = (directory / "proctor.toml").string();
class TempDir {
 public:
  // Creates the directory below TMPDIR (/tmp). A test that writes many small files may pass "/dev/shm", which
  // is in memory.
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "proctor-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("failed to make the directory " + name);
    path_ = name;
  }
  ~TempDir() {
    std::error_code left;  // files of another user's process cannot be removed, and stay
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
