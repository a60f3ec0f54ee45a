// Records what a device does if no document says what it must do. The answer goes into the report as a
// measure, from which suites/hardware/observed.py makes a table of drivers; a check asserts it on the
// simulator only, whose model is ours to fix.
//
//   observe("cudaDeviceCanAccessPeer(0, 0)", "reachable", 0, "bool");
#pragma once

#include <string>
#include <string_view>

#include "suites/main/check.h"

namespace proctor::suite {

// The name of the measure. `part` is a word, for questions whose answer needs more than one number.
inline std::string observation(std::string_view question, std::string_view part) {
  return std::string("observed: ").append(question).append(" -> ").append(part);
}

inline void observe(std::string_view question, std::string_view part, double value, std::string_view unit) {
  measure(observation(question, part), value, unit);
}

}  // namespace proctor::suite
