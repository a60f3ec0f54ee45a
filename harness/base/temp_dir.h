// A new directory that is removed at the end of the scope, with everything in it. Example:
//
//   const TempDir directory;
//   const std::string path = (directory / "proctor.toml").string();
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace proctor {

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
