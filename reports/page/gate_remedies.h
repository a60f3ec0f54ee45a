// What makes a red rule of the gate green: what to do, and the option or the line of the policy for it.
#pragma once

#include <string>

#include "reports/page/panel_files.h"

namespace proctor {

struct GateRemedy {
  std::string todo{};  // "" for a rule that this version does not know
  std::string line{};  // of the policy, or a command; ""
};

GateRemedy remedy_of(const PageGateRule& rule);

}  // namespace proctor
