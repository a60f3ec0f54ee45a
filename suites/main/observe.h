// Records the behaviour of a device for which no document has a rule. The answer is a measure in the report.
// suites/hardware/observed.py makes a table of drivers from these measures. Checks assert the behaviour only
// on the simulator.
//
//   observe("cudaDeviceCanAccessPeer(0, 0)", "reachable", 0, "bool");
#pragma once

#include <string>
#include <string_view>

#include "suites/main/check.h"

namespace proctor::suite {

// The name of the measure. `part` is a word that names one number of the answer.
inline std::string observation(std::string_view question, std::string_view part) {
  return std::string("observed: ").append(question).append(" -> ").append(part);
}

inline void observe(std::string_view question, std::string_view part, double value, std::string_view unit) {
  measure(observation(question, part), value, unit);
}

}  // namespace proctor::suite
