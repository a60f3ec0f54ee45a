// Reads a whole file as bytes. It does not use std::ifstream, which throws when opening succeeds and reading
// fails. That happens with files below /proc whose process ends in between.
#pragma once

#include <string>

#include "harness/core/result.h"

namespace proctor {

Result<std::string> read_file(const std::string& path);

}  // namespace proctor
