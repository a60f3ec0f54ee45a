// Helpers for the argument and environment arrays of execve(2) and posix_spawn(3).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// Returns pointers to each of `words`, followed by a null pointer. The pointers refer to `words`. execve and
// posix_spawn do not write through them.
std::vector<char*> argv_of(const std::vector<std::string>& words);

// ---- Environments: lists of NAME=VALUE in which each name occurs once ----

void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value);
void unset_variable(std::vector<std::string>& environment, std::string_view name);

}  // namespace proctor
