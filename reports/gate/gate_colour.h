// What the gate makes of an outcome: it follows from the exit code of a run with such a case. Yellow needs an entry of the
// policy that allows it. Grey is a failure of the machine and counts as missing.
#pragma once

#include <string_view>

#include "harness/journal/outcome_meaning.h"

namespace proctor {

enum class GateColour { kGreen, kYellow, kRed, kGrey };

constexpr GateColour gate_colour(const OutcomeMeaning& meaning) {
  if (meaning.run == RunCode::kMachine) return GateColour::kGrey;
  if (meaning.run != RunCode::kGreen) return GateColour::kRed;
  return meaning.outcome == Outcome::kPass ? GateColour::kGreen : GateColour::kYellow;
}

inline std::string_view to_string(GateColour colour) {
  return name_in({"green", "yellow", "red", "grey"}, colour);
}

}  // namespace proctor
