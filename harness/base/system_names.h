// The names of errno values and signals: "ENOENT", "SIGKILL". glibc has functions for
// that since 2.32, musl has none.
#pragma once

#include <string>

namespace proctor {

std::string errno_name(int err);      // the number if it has no name here
std::string signal_name(int signal);  // "" if it has none, as real-time signals
std::string errno_words(int err);     // "No such file or directory"

}  // namespace proctor
