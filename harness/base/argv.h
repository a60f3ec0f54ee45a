// Arguments and environments as the system's calls take them.
#pragma once

#include <string>
#include <vector>

namespace proctor {

// Pointers to each of `words`, and a null behind them. They point into `words`, and the calls that take them
// (execve, posix_spawn) do not write there.
std::vector<char*> argv_of(const std::vector<std::string>& words);

}  // namespace proctor
