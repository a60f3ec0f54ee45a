// Verifies tables of checks. Separate from check.h, so that a normal GoogleTest can test it.
#pragma once

namespace proctor::suite {

// Aborts the program if a table is empty, because a check without cases looks like a check that passed. A
// table in another file can be empty because it is initialised later.
bool require_added(bool added, const char* name);

}  // namespace proctor::suite
