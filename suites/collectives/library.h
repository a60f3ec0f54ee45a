// Finds and loads the libraries of collectives.
#pragma once

#include <optional>
#include <string>

#include "suites/collectives/provider.h"

namespace proctor::collectives {

// PROCTOR_PROVIDER. Throws std::invalid_argument when there is no such provider.
std::optional<std::string> asked_provider();

// The library that a check uses unless it is about a certain one: the requested one, else Gloo.
std::string chosen_provider();

// Ends the check as skip(needs:provider=NAME) if another one was requested.
void need_provider(const std::string& name);

// Ends the check as skip(unsupported:NAME) unless the library has it.
void need_feature(bool has, const std::string& name);

// The provider `name`, whose shared object (libproctor_NAME.so) lies beside this program. Ends the check as
// need_provider() does; as skip(library_missing:SONAME) when it, or a library that it needs, is not there; as
// skip(library_unusable:WHY) when one does not load or start; as skip(not_on_simulator:NAME) when it works on
// real devices only. From then on the process ignores SIGPIPE.
Provider& load_provider(const std::string& name);

// Puts the library into the report, once in a process: a step, a line of the rank's log, and its version as
// the measure NAME.version.
void report_library(const Identity& library);

// The reason of the skip, from the message of dlopen() about `file`.
std::string reason_not_loaded(const std::string& file, const std::string& error);

}  // namespace proctor::collectives
