// The stack of one thread, innermost frame first.
#pragma once

#include <string>
#include <vector>

#include "harness/core/events.h"

namespace proctor {

struct ThreadStack {
  int tid = 0;  // as the runner sees it, 0 when unknown
  std::string name;
  std::vector<StackFrame> frames;
};

}  // namespace proctor
