#include "harness/process/layer.h"

namespace proctor {

std::string_view to_string(Layer layer) {
  switch (layer) {
    case Layer::kCgroupPidns:
      return "cgroup+pidns";
    case Layer::kCgroup:
      return "cgroup";
    case Layer::kPidns:
      return "pidns";
    case Layer::kSubreaper:
      return "subreaper";
  }
  return "?";
}

std::optional<Layer> parse_layer(std::string_view text) {
  for (const Layer layer : kAllLayers) {
    if (to_string(layer) == text) return layer;
  }
  return std::nullopt;
}

}  // namespace proctor
