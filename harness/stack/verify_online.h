// Whether the world is as a lock says: is the image behind its digest, does each address give the file with
// this hash, does each repository answer for its day, is it signed by this key, has it these versions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/stack/lock.h"
#include "harness/stack/lock_edit.h"
#include "harness/stack/outside_tools.h"

namespace proctor {

enum class WorldSays {
  kSame,     // as the lock says
  kDiffers,  // something else, or gone
  kNew,      // the lock does not say it; here it is
  kUnknown,  // the lock does not say it, and nobody can look it up
  kSilent    // nobody answered
};
std::string_view to_string(WorldSays says);

struct WorldCheck {
  std::string what{};  // "file.libze1.sha256"
  WorldSays says = WorldSays::kSame;
  std::string words{};
};

struct WorldReport {
  std::vector<WorldCheck> checks{};
  std::vector<LockChange> changes{};  // what the lock could say now
};

// `mirrors`: by name of the repository, an address to ask instead; what it says does not make a repository
// verified. Error: a tool is missing.
Result<WorldReport> verify_online(const StackLock& lock, const OutsideTools& tools,
                                  const std::map<std::string, std::string>& mirrors);

}  // namespace proctor
