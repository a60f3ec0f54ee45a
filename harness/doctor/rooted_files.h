// Files of a machine whose root directory is somewhere else: its links lead to where they would lead there.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace proctor {

class RootedFiles {
 public:
  explicit RootedFiles(std::string root);

  bool is_whole_machine() const { return root_.empty(); }
  const std::string& root() const { return root_; }

  // The text without white space around it.
  std::optional<std::string> read(const std::string& path) const;
  // Names, sorted; empty where there is no such directory.
  std::vector<std::string> names(const std::string& directory) const;
  bool exists(const std::string& path) const { return resolve(path).has_value(); }
  // Where the links of `path` lead, as that machine sees it; nothing where they lead nowhere.
  std::optional<std::string> resolve(const std::string& path) const;

 private:
  std::string root_;  // "" stands for this machine
};

}  // namespace proctor
