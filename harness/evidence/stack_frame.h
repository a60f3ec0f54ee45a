// One line of a stack, native or Python, innermost first in a list of them.
#pragma once

#include <string>
#include <vector>

namespace proctor {

struct StackFrame {
  std::string function;
  std::string location;  // "train.py:12", "wait.c:40", or ""
};

struct ThreadStack {
  int tid = 0;  // as the runner sees it, 0 when unknown
  std::string name;
  std::vector<StackFrame> frames;
};

}  // namespace proctor
