// Whether a machine or image matches a lock: its own name and digest, its packages, its host's driver.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/stack/fingerprint.h"
#include "harness/stack/lock.h"

namespace proctor {

struct LockComparison {
  std::vector<std::string> equal{};        // "libze1 1.8.12-1"
  std::vector<std::string> differences{};  // "libze1: the lock requires 1.8.12-1, installed is 1.9-1"
  std::vector<std::string> notes{};        // what could not be compared, and why
};

// `packages` are dpkg's, by name.
LockComparison compare_with_lock(const StackLock& lock, const Fingerprint& facts,
                                 const std::map<std::string, std::string>& packages);

}  // namespace proctor
