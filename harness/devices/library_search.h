// Computes where the dynamic linker of a child searches for a library. The runner itself is static and loads
// none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/rooted_files.h"

namespace proctor {

// Returns LD_LIBRARY_PATH, then /etc/ld.so.conf and ld.so.conf.d, then the linker's own defaults (source:
// ld.so(8)), as on the machine of `files`.
std::vector<std::string> system_library_directories(std::string_view ld_library_path,
                                                    const RootedFiles& files = RootedFiles({}));

// Returns the library directories of a tree unpacked in `prefix`: the prefix itself, lib, lib64 and the
// multiarch directories, with and without usr.
std::vector<std::string> prefix_library_directories(const std::string& prefix);

// Returns the path of the first readable file of that name, or "".
std::string find_library(const std::string& name, const std::vector<std::string>& directories);

}  // namespace proctor
