// Reads the GNU build id of a program or library. The build id identifies the link that produced the file,
// independent of the file name. Only the ELF headers and notes are read. The file is not loaded.
#pragma once

#include <string>

#include "harness/base/result.h"

namespace proctor {

// Returns the build id in hexadecimal. Error: the file is not an ELF file of this machine's word size, or has
// no build id.
Result<std::string> read_build_id(const std::string& path);

}  // namespace proctor
