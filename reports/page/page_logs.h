// The ends of logs, as a page holds them. A run directory is whoever wrote there: a file that is a link, that lies behind
// one, or that is another user's, is not read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/core/unique_fd.h"

namespace proctor {

class RunFiles {
 public:
  // A directory that is not there, or "", has no files.
  explicit RunFiles(const std::filesystem::path& run_dir);

  struct Tail {
    std::string text{};
    bool is_all = true;
  };
  // Of the log of an attempt, what the program wrote: whole lines, at most `bytes`. Nothing where it cannot be read.
  std::optional<Tail> tail(const std::string& log, std::size_t bytes) const;

 private:
  UniqueFd open(const std::string& file) const;

  UniqueFd directory_;
};

}  // namespace proctor
