// What stands at the top of each rendered file.
#pragma once

#include <string>

#include "harness/stack/lock.h"

namespace proctor {

std::string generated_note(const StackLock& lock);
std::string host_note(const StackLock& lock);  // "" where the host need not have anything

}  // namespace proctor
