// Finds and loads the collective libraries.
#pragma once

#include <optional>
#include <string>

#include "suites/collectives/provider.h"

namespace proctor::collectives {

// Returns the value of PROCTOR_PROVIDER. Throws std::invalid_argument if that provider does not exist.
std::optional<std::string> asked_provider();

// Returns the library for checks that do not test a certain one: the requested library, or Gloo.
std::string chosen_provider();

// Ends the check as skip(needs:provider=NAME) if another one was requested.
void need_provider(const std::string& name);

// Ends the check as skip(unsupported:NAME) if the library lacks the feature.
void need_feature(bool has, const std::string& name);

// Returns the provider `name`, whose shared object (libproctor_NAME.so) is next to this program. The check
// ends in one of these cases:
// - need_provider() ends it.
// - skip(library_missing:SONAME): the shared object, or a library that it needs, is missing.
// - skip(library_unusable:WHY): a library fails to load or to start.
// - skip(not_on_simulator:NAME): the library works on real devices only.
//
// Afterwards the process ignores SIGPIPE.
Provider& load_provider(const std::string& name);

// Records the library in the report, once in a process: a step, a line of the rank's log, and its version as
// the measure NAME.version.
void report_library(const Identity& library);

// Returns the skip reason for an error message of dlopen() about `file`.
std::string reason_not_loaded(const std::string& file, const std::string& error);

}  // namespace proctor::collectives
