// An error of a device that the kernel logged: whatever its case said.
#pragma once

#include <string>

#include "harness/journal/event_words.h"

namespace proctor {

struct DeviceError {
  std::string device;       // its id
  std::string rule;         // "xid:48"
  bool by_machine = false;  // false: the program caused it
  Gravity severity = Gravity::kError;
  std::string line;
  std::string next;  // what to do
};

}  // namespace proctor
