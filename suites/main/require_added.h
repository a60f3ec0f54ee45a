// A test that tables of checks make of themselves. It is apart from check.h, so that an ordinary GoogleTest
// can test it.
#pragma once

namespace proctor::suite {

// Aborts the program when a table was empty: a check without cases looks like a check that passed. A table in
// another file may look empty only because it is initialised later.
bool require_added(bool added, const char* name);

}  // namespace proctor::suite
