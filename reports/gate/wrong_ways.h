// The rows of wrong_ways.toml: what a gate lets pass, and the wrong ways to pass. Each one changes a good release a little.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/gate/gate_fixtures.h"

namespace proctor::testing_support {

struct WrongWay {
  int number = 0;  // in docs/reference/gate.md; 0: it has none
  std::string name{};
  GateScene scene{};
  std::string rule{};                   // that fails; "": it cannot be read
  std::vector<std::string> contains{};  // parts of the refusal
};
std::vector<WrongWay> wrong_ways();
struct GoodWay {
  std::string name{};
  GateScene scene{};
};
std::vector<GoodWay> good_ways();  // that a gate lets pass
// The good scene after changes as they stand in that table: "{...}, {...}".
GateScene scene_after(std::string_view changes);

}  // namespace proctor::testing_support
