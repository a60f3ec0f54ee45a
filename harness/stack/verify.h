// Whether a machine or image matches a lock: its own name and digest, its packages, its host's driver.
//
// Whether the outside world matches a lock: whether the image has this digest, each address gives the file
// with this hash, each repository answers for its day, is signed by this key and has these versions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/stack/fingerprint.h"
#include "harness/stack/lock.h"
#include "harness/stack/lock_edit.h"
#include "harness/stack/outside_tools.h"

namespace proctor {

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
