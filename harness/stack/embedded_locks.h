// The locks of docker/stacks as they were when this program was built: in an image there is no docker/.
#pragma once

#include <vector>

#include "harness/stack/lock.h"

namespace proctor {

// All of them, sorted by name. What is embedded is read by a unit test: a mistake cannot
// reach a program that runs.
const std::vector<StackLock>& embedded_locks();

}  // namespace proctor
