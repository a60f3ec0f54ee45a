// How a suite starts its own program again. In the second process no part of a driver is loaded yet.
#pragma once

#include <string>
#include <vector>

namespace proctor::suite {

// The words before its arguments; the first is an absolute path. [PROGRAM], or, where the runner started the
// program through a dynamic loader, that loader and its options before it.
std::vector<std::string> self_command();

}  // namespace proctor::suite
