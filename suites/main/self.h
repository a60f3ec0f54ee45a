// The command that starts this program as a second process.
#pragma once

#include <string>
#include <vector>

namespace proctor::suite {

// The words before its arguments, the first an absolute path: [PROGRAM]. If the runner started the program
// through a dynamic loader, that loader and its options precede it.
std::vector<std::string> self_command();

}  // namespace proctor::suite
