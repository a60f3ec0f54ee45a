// Files of a machine whose root directory is somewhere else: its links, absolute ones too, lead to where they
// would lead there, never out of it. Resolved here, name by name, so that every kernel will do (openat2(2)
// with RESOLVE_IN_ROOT needs Linux 5.6); nobody is expected to change the tree meanwhile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.h"

namespace proctor {

class RootedFiles {
 public:
  explicit RootedFiles(std::string root);

  bool is_whole_machine() const { return root_.empty(); }

  // The whole text; the error's path is the one that was asked for.
  Result<std::string> contents(const std::string& path) const;
  // The text without white space around it; nothing where it cannot be read.
  std::optional<std::string> read(const std::string& path) const;
  // Names, sorted; empty where there is no such directory.
  std::vector<std::string> names(const std::string& directory) const;
  bool exists(const std::string& path) const { return resolve(path).has_value(); }
  // Where the links of `path` lead, as that machine sees it; nothing where they lead nowhere.
  std::optional<std::string> resolve(const std::string& path) const;

 private:
  Result<std::string> follow(const std::string& path) const;

  std::string root_;  // "" stands for this machine
};

}  // namespace proctor
