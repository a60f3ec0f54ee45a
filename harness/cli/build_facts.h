// What `proctor --version` says: the version, and of what and how this executable was made.
#pragma once

#include <string>

namespace proctor::cli {

std::string build_facts();

}  // namespace proctor::cli
