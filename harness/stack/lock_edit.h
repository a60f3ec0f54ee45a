// Changes to a lock that leave everything else in its file as people wrote it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"

namespace proctor {

// One entry of a lock: [base], or the element of [[repository]] or [[file]] with this name.
struct LockEntry {
  std::string table{};  // "base", "repository", "file"
  std::string name{};   // "" of [base]
};

struct LockChange {
  LockEntry entry{};
  std::string key{};      // "sha256"; "" where only `verified` changes
  std::string value{};    // put in, where the entry has no such key
  bool verified = false;  // the entry no longer says unverified = true
};

// The new text, which is a lock again. `file` is for messages.
Result<std::string> change_lock(std::string_view text, const std::string& file,
                                const std::vector<LockChange>& changes);

}  // namespace proctor
