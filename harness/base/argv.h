// Arguments and environments as the system's calls take them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// Pointers to each of `words`, and a null behind them. They point into `words`, and the calls that take them
// (execve, posix_spawn) do not write there.
std::vector<char*> argv_of(const std::vector<std::string>& words);

// ---- Environments: lists of NAME=VALUE, in which a name stands once ----

void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value);
void unset_variable(std::vector<std::string>& environment, std::string_view name);

}  // namespace proctor
