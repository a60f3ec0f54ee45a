// Files of a machine whose root directory is a directory of this machine. Links, also absolute ones, lead to
// where they would lead on that machine and never out of its tree. They are resolved here, name by name, so
// that any kernel will do (openat2(2) with RESOLVE_IN_ROOT needs Linux 5.6). The tree must not change
// meanwhile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

class RootedFiles {
 public:
  explicit RootedFiles(std::string root);

  bool is_whole_machine() const { return root_.empty(); }
  // Where a path of that machine is on this one, for what is no file to read. Links in it are not followed.
  std::string place(const std::string& path) const { return root_ + path; }

  // The whole text. An error names the path as it was given.
  Result<std::string> contents(const std::string& path) const;
  // The text without white space around it, or none if it cannot be read.
  std::optional<std::string> read(const std::string& path) const;
  // The sorted names in a directory; empty if there is no such directory.
  std::vector<std::string> names(const std::string& directory) const;
  bool exists(const std::string& path) const { return resolve(path).has_value(); }
  // Where the links of `path` lead, as a path on that machine; none if they lead nowhere.
  std::optional<std::string> resolve(const std::string& path) const;

 private:
  Result<std::string> follow(const std::string& path) const;

  std::string root_;  // "" stands for this machine
};

}  // namespace proctor
