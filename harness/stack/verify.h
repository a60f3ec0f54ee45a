// Compares a lock with an image or machine (compare_with_lock), and with registries and repositories (verify_online).
// The first compares stack name and digest, packages and the host's driver. The second checks the digest of the image,
// the hash of each file, and date, signing key and versions of each repository. change_lock() writes new values into a
// lock.
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

// ---- Edits of a lock that keep all other lines of its file ----

// An entry of a lock: [base], or the element of [[base]], [[repository]] or [[file]] with this flavour or name.
struct LockEntry {
  std::string table{};  // "base", "repository", "file"
  std::string name{};   // "" for a base without a flavour
};

struct LockChange {
  LockEntry entry{};
  std::string key{};      // "sha256"; "": only `verified` changes
  std::string value{};    // value to add; it is an error if the entry already has the key
  bool verified = false;  // removes unverified = true from the entry
};

// Returns the new text, which is a valid lock. `file` is the name of the text in error messages.
Result<std::string> change_lock(std::string_view text, const std::string& file,
                                const std::vector<LockChange>& changes);

// ---- Comparisons ----

struct LockComparison {
  std::vector<std::string> equal{};        // "libze1 1.8.12-1"
  std::vector<std::string> differences{};  // "libze1: the lock requires 1.8.12-1, installed is 1.9-1"
  std::vector<std::string> notes{};        // values that could not be compared, and why
};

// `packages` are installed packages from dpkg, by name.
LockComparison compare_with_lock(const StackLock& lock, const Fingerprint& facts,
                                 const std::map<std::string, std::string>& packages);

enum class WorldSays {
  kSame,     // equal to the lock
  kDiffers,  // different or missing
  kNew,      // missing in the lock; this is the value
  kUnknown,  // missing in the lock, and not available
  kSilent,   // no response
  kUnasked   // not checked
};
std::string_view to_string(WorldSays says);

struct WorldCheck {
  std::string what{};  // "file.libze1.sha256"
  WorldSays says = WorldSays::kSame;
  std::string words{};
};

struct WorldReport {
  std::vector<WorldCheck> checks{};
  std::vector<LockChange> changes{};  // new values for the lock
};

// `mirrors` maps names of repositories to addresses that are used instead. Responses of a mirror do not make a
// repository verified. It is an error if a tool is missing.
Result<WorldReport> verify_online(const StackLock& lock, const OutsideTools& tools,
                                  const std::map<std::string, std::string>& mirrors);

}  // namespace proctor
