// What shells complete that only this machine knows. Nothing is started: cases and devices are those of a run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor::cli {

// `kind`: suites (of the configuration), cases, devices (of `run`, "": the latest one here), rules (of the diagnosis),
// runs (below proctor-out/) or layers (of containment). None where nothing can be read.
std::vector<std::string> completion_words(std::string_view kind, const std::string& run);

}  // namespace proctor::cli
