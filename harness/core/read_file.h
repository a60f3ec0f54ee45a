// A whole file as bytes. Not an ifstream's buffer: that throws when a read fails after the open did not, as
// it does for files below /proc whose process ends in between.
#pragma once

#include <string>

#include "harness/core/result.h"

namespace proctor {

Result<std::string> read_file(const std::string& path);

}  // namespace proctor
