// Writes files into directories that other users or tests can write to, and in which a link can already
// exist.
//
// A file is first written under a random name in the same directory, and is then renamed. The rename replaces
// a link of that name and does not follow it. Readers never see an incomplete file.
//
// Root writes only into directories that no other user can move away: every directory above the file must
// belong to root. This also refuses a common case, a container that is root in a workspace of its host's
// user. In that case the caller names the user in PROCTOR_TRUST_USER (docs/reference/config.md).
#pragma once

#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

inline constexpr const char* kTrustUserVariable = "PROCTOR_TRUST_USER";

// Returns whether the kernel provides the name: /dev/stdout, /dev/null, /dev/fd/3. Such a file is written in
// place. Other directories below /dev, such as /dev/shm, are ordinary file systems.
bool is_of_the_kernel(const std::string& path);

// Checks that this process may write into the directory, which must exist. A refusal is a usage error.
Result<void> check_owner_of(const std::string& directory);

// Writes the file. The old file, if any, stays until the new one is complete.
Result<void> replace_file(const std::string& path, std::string_view text);

// Replaces a file with a text that is added in pieces.
class FileReplacement {
 public:
  static Result<FileReplacement> open(const std::string& path);
  FileReplacement(FileReplacement&& other) noexcept = default;
  FileReplacement& operator=(FileReplacement&& other) = delete;
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  ~FileReplacement();  // without put(), the old file stays

  // Adds a piece. put() returns the first error.
  void add(std::string_view piece);
  // Returns the first error so far. A caller checks it before it puts one of several files.
  Result<void> added() const;
  Result<void> put();

 private:
  FileReplacement(std::string path, UniqueFd directory, std::string draft, UniqueFd fd);

  std::string path_;
  UniqueFd directory_;
  std::string draft_;  // temporary name in the directory; "": the file is written in place
  UniqueFd fd_;
  int err_ = 0;
};

}  // namespace proctor
