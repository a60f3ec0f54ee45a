// Reads a whole file as bytes. It does not use std::ifstream, which throws when opening succeeds and reading
// fails. That happens with files below /proc whose process ends in between. Example:
//
//   const Result<std::string> text = read_file("proctor.toml");
//   if (!text) std::fprintf(stderr, "failed to %s\n", text.error().what.c_str());
#pragma once

#include <string>

#include "harness/core/result.h"

namespace proctor {

Result<std::string> read_file(const std::string& path);

// For a file that may be missing: the answer is then "", as for an empty file.
std::string read_file_or_empty(const std::string& path);

}  // namespace proctor
