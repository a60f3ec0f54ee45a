// The facts of one device (harness/journal/card_facts.h). A contained child asks about this one alone, within a time limit: a
// query that hangs costs no more than that, and nobody else's answer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/journal/card_facts.h"

namespace proctor {

class Containment;

struct FactsRequest {
  std::vector<std::string> argv;  // the probe, with the words that must stand before it
  std::vector<std::string> env;   // NAME=VALUE, that of the probe which found the devices
  std::size_t device = 0;         // in the probe's order
  std::string directory;          // the probe runs there, because drivers write files
  Milliseconds limit{5'000};
};

// The error completes "failed to ...": nobody answered in time, or the library is not here.
Result<CardFacts> ask_facts(Containment& containment, FactsRequest request);

// One answer of the probe (suites/probe/facts.h).
Result<CardFacts> parse_facts(std::string_view line);

}  // namespace proctor
