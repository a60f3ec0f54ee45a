// Reads files of a machine whose root directory is a directory of this machine. Links, including absolute
// ones, are resolved inside that tree and never leave it. This class resolves them name by name, because
// openat2(2) with RESOLVE_IN_ROOT needs Linux 5.6. The tree must not change meanwhile.
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
  // Returns the path on this machine, for entries that are not files to read. Links in the path are not
  // followed.
  std::string place(const std::string& path) const { return root_ + path; }

  // Returns the whole text. An error contains the path as it was passed.
  Result<std::string> contents(const std::string& path) const;
  // Returns the text without leading and trailing white space, or nothing if the file cannot be read.
  std::optional<std::string> read(const std::string& path) const;
  // Returns the sorted names in a directory, or an empty list if the directory does not exist.
  std::vector<std::string> names(const std::string& directory) const;
  bool exists(const std::string& path) const { return resolve(path).has_value(); }
  // Returns the path on that machine after all links are resolved. Returns nothing if a link leads to no
  // file.
  std::optional<std::string> resolve(const std::string& path) const;

 private:
  Result<std::string> follow(const std::string& path) const;

  std::string root_;  // "": this machine itself
};

}  // namespace proctor
