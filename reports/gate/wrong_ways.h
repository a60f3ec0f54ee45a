// The rows of wrong_ways.toml: releases that a gate accepts, and releases that it rejects. Each row changes a good
// release a little. For tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/gate/gate_fixtures.h"

namespace proctor::testing_support {

// A release that a gate must reject.
struct WrongWay {
  int number = 0;  // its number in docs/reference/gate.md; 0: it has none
  std::string name{};
  GateScene scene{};
  std::string rule{};                   // the rule that fails; "": the release cannot be read
  std::vector<std::string> contains{};  // parts of the error or of the reasons
};
std::vector<WrongWay> wrong_ways();
// A release that a gate must accept.
struct GoodWay {
  std::string name{};
  GateScene scene{};
};
std::vector<GoodWay> good_ways();  // releases that a gate accepts
// Returns the good scene after changes in the form of that table: "{...}, {...}".
GateScene scene_after(std::string_view changes);

}  // namespace proctor::testing_support
