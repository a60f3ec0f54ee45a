// Options for an engine that a user adds to a rendered line: secrets, models, networks. Those that would take from the
// container what holds the tests, or let it use devices that others have, are refused by name; so is what nobody here
// knows. Example:
//
//   read_engine_options(Engine::kPodman, {"--env-file", "my secrets"});   // {"--env-file=my secrets"}
//   read_engine_options(Engine::kDocker, {"--privileged"});               // an error that says why
#pragma once

#include <string>
#include <vector>

#include "harness/core/result.h"
#include "harness/stack/run_line.h"

namespace proctor {

// Each as one word. A value may follow its option as a word of its own.
Result<std::vector<std::string>> read_engine_options(Engine engine, const std::vector<std::string>& words);

}  // namespace proctor
