// Finds the libraries of collectives and loads them.
#pragma once

#include <string>

#include "suites/collectives/provider.h"

namespace proctor::collectives {

// The provider `name`, whose shared object (libproctor_NAME.so) lies beside this program. Ends the check as
// skip(library_missing:SONAME) when it or a library that it needs is not there, as skip(library_unusable:WHY)
// when one does not load or start.
Provider& load_provider(const std::string& name);

// The reason of the skip, from what dlopen() said of `file`.
std::string reason_not_loaded(const std::string& file, const std::string& error);

}  // namespace proctor::collectives
