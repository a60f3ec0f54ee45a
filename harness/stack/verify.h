// Whether a machine or image matches a lock: its own name and digest, its packages, its host's driver.
//
// Whether the outside world matches a lock: whether the image has this digest, each address gives the file
// with this hash, each repository answers for its day, is signed by this key and has these versions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/stack/fingerprint.h"
#include "harness/stack/lock.h"
#include "harness/stack/outside_tools.h"

namespace proctor {

// ---- Additions to a lock that leave the rest of its file as people wrote it ----

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

// ---- Comparisons ----

struct LockComparison {
  std::vector<std::string> equal{};        // "libze1 1.8.12-1"
  std::vector<std::string> differences{};  // "libze1: the lock requires 1.8.12-1, installed is 1.9-1"
  std::vector<std::string> notes{};        // what could not be compared, and why
};

// `packages` are dpkg's, by name.
LockComparison compare_with_lock(const StackLock& lock, const Fingerprint& facts,
                                 const std::map<std::string, std::string>& packages);

enum class WorldSays {
  kSame,     // as the lock says
  kDiffers,  // it is different, or gone
  kNew,      // the lock does not have it; this is the value
  kUnknown,  // the lock does not have it, and it cannot be looked up
  kSilent,   // nobody answered
  kUnasked   // nobody looks it up
};
std::string_view to_string(WorldSays says);

struct WorldCheck {
  std::string what{};  // "file.libze1.sha256"
  WorldSays says = WorldSays::kSame;
  std::string words{};
};

struct WorldReport {
  std::vector<WorldCheck> checks{};
  std::vector<LockChange> changes{};  // values that the lock could have now
};

// `mirrors` gives, by name of the repository, an address to use instead; its answers do not make a repository
// verified. An error if a tool is missing.
Result<WorldReport> verify_online(const StackLock& lock, const OutsideTools& tools,
                                  const std::map<std::string, std::string>& mirrors);

}  // namespace proctor
