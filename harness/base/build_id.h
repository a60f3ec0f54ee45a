// The GNU build id of a program or library: which link made the file, whatever it is called. Only its headers and notes are
// read, and nothing is loaded.
#pragma once

#include <string>

#include "harness/base/result.h"

namespace proctor {

// In hexadecimal. An error for what is no ELF file of this machine's kind, and for one without a build id.
Result<std::string> read_build_id(const std::string& path);

}  // namespace proctor
