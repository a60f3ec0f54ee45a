// Scratch directories of a run: /tmp/pr-XXXXXX (mode 0700), with one numbered directory per attempt. Their
// paths stay within 30 characters, because programs put Unix sockets below TMPDIR (sun_path holds 108 bytes).
#pragma once

#include <memory>
#include <string>

#include "harness/core/result.h"

namespace proctor {

class ScratchRoot {
 public:
  static Result<std::unique_ptr<ScratchRoot>> create();
  ~ScratchRoot();  // removes it with all that is below
  ScratchRoot(const ScratchRoot&) = delete;
  ScratchRoot& operator=(const ScratchRoot&) = delete;

  const std::string& path() const { return path_; }
  // A new empty directory below the root.
  Result<std::string> make_directory();

 private:
  explicit ScratchRoot(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::uint64_t next_ = 1;
};

// Removes a directory tree, never following links; unreadable directories of our own are made readable first.
Result<void> remove_tree(const std::string& path);

}  // namespace proctor
