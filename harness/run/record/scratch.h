// Scratch directories of a run: /tmp/pr-XXXXXX (mode 0700), with one numbered directory per attempt. Their
// paths stay within 30 characters, because programs put Unix sockets below TMPDIR (sun_path holds 108 bytes).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/result.h"

namespace proctor {

class ScratchRoot {
 public:
  static Result<std::unique_ptr<ScratchRoot>> create();
  ~ScratchRoot();  // removes it with all that is below
  ScratchRoot(const ScratchRoot&) = delete;
  ScratchRoot& operator=(const ScratchRoot&) = delete;

  const std::string& path() const { return path_; }
  // All directories of the run, to be swept if it is killed.
  std::vector<std::string> paths() const;
  // An empty directory below the root (mode 0700), and its return once nobody can write to it
  // any more. It is emptied then and used again: on ext4 a directory that is made costs
  // milliseconds, one that is kept nothing.
  Result<std::string> lease_directory();
  Result<void> give_back(const std::string& directory);
  // The name of a small file that does not exist: in memory (/dev/shm) where there is such a place,
  // because on ext4 thousands of short-lived files slow down every other creation for seconds
  // (inodes are not reused at once).
  std::string new_file_name();
  // A new directory at such a place (mode 0700).
  Result<std::string> new_directory();

 private:
  ScratchRoot(std::string path, std::string memory) : path_(std::move(path)), memory_(std::move(memory)) {}

  std::string path_;
  std::string memory_;  // "" = there is none
  std::uint64_t next_ = 1;
  std::vector<std::string> free_directories_;
};

// Removes a directory tree, never following links; unreadable directories of our own are made readable first.
Result<void> remove_tree(const std::string& path);
// The same for all that is below a directory, which stays.
Result<void> empty_directory(const std::string& path);

}  // namespace proctor
