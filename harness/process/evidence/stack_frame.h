// The stack of one thread, innermost frame first.
#pragma once

#include <string>
#include <vector>

namespace proctor {

struct ThreadFrame {
  std::string function{};  // "??" unknown
  std::string location{};  // "/src/train.py:12", or ""
  std::string library{};   // "/lib/x86_64-linux-gnu/libc.so.6", of a native frame without a location; or ""
};

struct ThreadStack {
  int tid = 0;  // as the runner sees it, 0 when unknown
  std::string name;
  std::vector<ThreadFrame> frames;
};

}  // namespace proctor
