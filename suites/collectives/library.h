// Finds the libraries of collectives and loads them.
#pragma once

#include <string>

#include "suites/collectives/provider.h"

namespace proctor::collectives {

// The library that a check works over unless it is about a certain one: PROCTOR_PROVIDER, else Gloo. Throws
// std::invalid_argument when there is no such provider.
std::string chosen_provider();

// Ends the check as skip(needs:provider=NAME) when PROCTOR_PROVIDER names another one.
void need_provider(const std::string& name);

// The provider `name`, whose shared object (libproctor_NAME.so) lies beside this program. Ends the check as
// skip(library_missing:SONAME) when it or a library that it needs is not there, as skip(library_unusable:WHY)
// when one does not load or start, as skip(not_on_simulator:NAME) when it works on
// the memory of real devices only, and as need_provider() does.
Provider& load_provider(const std::string& name);

// Puts the library into the report: a step, a line of the rank's log, and from rank 0 its version as the
// measure NAME.version.
void tell_library(const Identity& library);

// The reason of the skip, from what dlopen() said of `file`.
std::string reason_not_loaded(const std::string& file, const std::string& error);

}  // namespace proctor::collectives
