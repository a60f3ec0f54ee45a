// Additions to a lock that leave the rest of its file as people wrote it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// One entry of a lock: [base], or the element of [[base]], [[repository]] or [[file]] with this flavour or name.
struct LockEntry {
  std::string table{};  // "base", "repository", "file"
  std::string name{};   // "" for a base without a flavour
};

struct LockChange {
  LockEntry entry{};
  std::string key{};      // "sha256"; "" where only `verified` changes
  std::string value{};    // added; it is an error if the entry has the key
  bool verified = false;  // removes unverified = true from the entry
};

// The new text, which is again a valid lock. `file` is for messages.
Result<std::string> change_lock(std::string_view text, const std::string& file,
                                const std::vector<LockChange>& changes);

}  // namespace proctor
