// The facts of the devices of one vendor (harness/core/card_facts.h). A contained child asks, within a time limit: a library
// that hangs costs no more than that.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/card_facts.h"
#include "harness/core/duration.h"
#include "harness/core/result.h"

namespace proctor {

class Containment;

struct FactsRequest {
  std::vector<std::string> argv;  // the probe, with the words that must stand before it
  std::vector<std::string> env;   // NAME=VALUE, that of the probe which found the devices
  std::vector<std::string> ids;   // of the devices, in the probe's order
  std::string directory;          // the probe runs there, because drivers write files
  Milliseconds limit{5'000};
};

// The error completes "failed to ...": nobody answered in time, or the library is not here.
Result<FactsOfCards> ask_facts(Containment& containment, FactsRequest request);

// One answer of the probe (suites/probe/facts.h).
Result<FactsOfCards> parse_facts(std::string_view line, const std::vector<std::string>& ids);

}  // namespace proctor
