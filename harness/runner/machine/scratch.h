// The scratch directories of a run: /tmp/pr-XXXXXX (held_directory.h), with a numbered directory for each attempt. A
// path has at most 30 characters, because programs create Unix sockets below TMPDIR, and sun_path holds 108 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/held_directory.h"
#include "harness/base/result.h"

namespace proctor {

// Creates and removes the scratch directories. Machine owns it.
class ScratchRoot {
 public:
  static Result<std::unique_ptr<ScratchRoot>> create();
  ~ScratchRoot();  // removes the directory and its contents; reports remaining files on stderr
  ScratchRoot(const ScratchRoot&) = delete;
  ScratchRoot& operator=(const ScratchRoot&) = delete;

  const std::string& path() const { return disk_.path; }
  // Returns all directories of the run. If the run is killed, another process removes them: by its record, or by
  // sweep_held_directories().
  std::vector<std::string> paths() const;
  // Returns an empty directory below the root (mode 0700). Call give_back() when no process can write to it. The
  // directory is then emptied and used again, because creating a directory takes milliseconds on ext4.
  Result<std::string> lease_directory();
  Result<void> give_back(const std::string& directory);
  // Removes a directory of this run and its contents, also if its parent was renamed or replaced.
  Result<void> remove(const std::string& directory);
  // Returns the name of a small file that does not exist yet, and that no earlier case could have guessed and created.
  // It is in memory (/dev/shm) if that exists. On ext4 thousands of short-lived files slow down the creation of every
  // other file for seconds, because inodes are not reused at once.
  std::string new_file_name();
  // Creates a directory (mode 0700), also in memory.
  Result<std::string> new_directory();

 private:
  ScratchRoot(HeldDirectory disk, HeldDirectory memory)
      : disk_(std::move(disk)), memory_(std::move(memory)) {}
  const HeldDirectory& root_of(const std::string& directory) const;

  HeldDirectory disk_;
  HeldDirectory memory_;
  std::uint64_t next_ = 1;
  std::vector<std::string> free_directories_;
};

}  // namespace proctor
