#include "suites/main/observe.h"

#include "suites/main/check.h"

namespace proctor::suite {

std::string observation(std::string_view question, std::string_view part) {
  return std::string("observed: ").append(question).append(" -> ").append(part);
}

void observe(std::string_view question, std::string_view part, double value, std::string_view unit) {
  measure(observation(question, part), value, unit);
}

}  // namespace proctor::suite
