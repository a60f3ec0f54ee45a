// The layers of containment (containment.h says what each guarantees), and the result of probing one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

enum class Layer { kCgroup, kPidns, kSubreaper };

inline constexpr Layer kAllLayers[] = {Layer::kCgroup, Layer::kPidns, Layer::kSubreaper};  // best first

std::string_view to_string(Layer layer);
std::optional<Layer> parse_layer(std::string_view text);

struct LayerProbe {
  Layer layer = Layer::kSubreaper;
  bool works = false;
  std::string why_not;                      // when it does not work: one sentence with the failing step
  std::vector<std::string> not_guaranteed;  // when it works: what it does not guarantee, a sentence each
  std::vector<std::string> how_to_improve;  // what would help, one line each
  bool fresh_proc = false;                  // pidns: /proc inside shows the pids of the namespace
  bool user_namespace = false;              // pidns: it is inside a user namespace
};

}  // namespace proctor
