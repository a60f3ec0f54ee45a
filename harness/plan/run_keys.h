// The keys of [run] and [profile.NAME.run], as the table of options has them (harness/request/option.h).
#pragma once

#include <string>
#include <vector>

#include "harness/base/toml_reader.h"
#include "harness/request/run_request.h"

namespace proctor {

// Sorted.
std::vector<std::string> run_keys();

// Paths are relative to `directory`. `of_user`: the file is the user's own, which cannot leave cases out. An error names file,
// line, value and what is allowed.
void read_run_keys(TableReader& reader, const std::string& directory, bool of_user, RunRequest& run);

}  // namespace proctor
