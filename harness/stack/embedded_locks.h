// The locks of docker/stacks as they were when this program was built: in an image there is no docker/.
#pragma once

#include <string_view>
#include <vector>

#include "harness/stack/lock.h"

namespace proctor {

// All of them, sorted by name. A unit test reads the embedded text, so that a mistake cannot reach a program
// that runs.
const std::vector<StackLock>& embedded_locks();

// The text of each, docker/stacks/NAME.toml (cmake/ProctorEmbed.cmake).
std::string_view embedded_cpu_sim();
std::string_view embedded_cuda_12();
std::string_view embedded_cuda_13();
std::string_view embedded_xpu_lts();
std::string_view embedded_xpu_rolling();

}  // namespace proctor
