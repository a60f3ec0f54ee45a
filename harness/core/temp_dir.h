// For tests: a new directory that goes away, with all that is in it, at the end of the scope.
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
  // Below TMPDIR (/tmp); a test with many small files may want memory: "/dev/shm".
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "proctor-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("failed to make the directory " + name);
    path_ = name;
  }
  ~TempDir() {
    std::error_code left;  // what another user's process made stays
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
