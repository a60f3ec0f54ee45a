// Tests whether a device still works: it takes bytes, computes with them and gives them back. The test is
// small and quick, so that it can be made whenever there is a doubt.
#pragma once

#include <string>

#include "suites/accel/accel.h"

namespace proctor::health {

enum class Result {
  kPass,
  kFail,     // wrong bytes, or a call that answers with an error
  kUnknown,  // this build or this machine lacks something that the test needs
};
const char* to_string(Result result);

struct Finding {
  Result result = Result::kPass;
  std::string step;    // the one that went wrong: "copy to the device", "run the kernel", ...
  std::string detail;  // "word 17 is 3, expected 54 (1 of 16384 differ)"
};

Finding examine(accel::Device device);
// Resets the card of the device, with everything that is on it.
Finding reset(accel::Device device);

}  // namespace proctor::health
