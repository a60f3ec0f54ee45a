// Where the running program is.
#pragma once

#include <string>

namespace proctor {

// The path of the running executable. "" if /proc cannot be read.
std::string own_program();
// Its directory, without a slash at the end.
std::string own_directory();

}  // namespace proctor
