// Files in directories that we did not make: where another user, or a test, may have put a link before us.
//
// A file is written beside its name, under a name that nobody knows, and then takes its place. So a link of that name
// is replaced and not followed, and nobody ever sees half a file.
//
// Root writes in no directory that another user could move away under it: every directory above a file must be root's.
// That also refuses the ordinary case of a container, which is root in a workspace of its host's user; there the caller
// says so in PROCTOR_TRUST_USER (docs/reference/config.md).
#pragma once

#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

inline constexpr const char* kTrustUserVariable = "PROCTOR_TRUST_USER";

// /dev/stdout, /dev/null, /dev/fd/3: names that stay what they are, and are written in place. What else lies below /dev,
// as /dev/shm, is a file system like another.
bool is_of_the_kernel(const std::string& path);

// Whether we may write in the directory, which must exist. A refusal is a usage error.
Result<void> check_owner_of(const std::string& directory);

// The old file, if any, stays until the new one is complete.
Result<void> replace_file(const std::string& path, std::string_view text);

// The same for a text that comes in pieces.
class FileReplacement {
 public:
  static Result<FileReplacement> open(const std::string& path);
  FileReplacement(FileReplacement&& other) noexcept = default;
  FileReplacement& operator=(FileReplacement&& other) = delete;
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;
  ~FileReplacement();  // without put() the old file stays

  // What goes wrong is said by put().
  void add(std::string_view piece);
  // Whether all pieces were written so far: for who puts several files, or none.
  Result<void> added() const;
  Result<void> put();

 private:
  FileReplacement(std::string path, UniqueFd directory, std::string draft, UniqueFd fd);

  std::string path_;
  UniqueFd directory_;
  std::string draft_;  // its name in the directory; "": it is written in place
  UniqueFd fd_;
  int err_ = 0;
};

}  // namespace proctor
