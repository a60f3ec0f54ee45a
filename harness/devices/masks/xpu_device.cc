#include "harness/devices/masks/xpu_device.h"

namespace proctor {

std::string to_string(const std::vector<XpuDevice>& devices, const Topology& topology) {
  if (devices.empty()) return "nothing";
  std::string text;
  for (const XpuDevice& device : devices) {
    if (!text.empty()) text += ' ';
    text += std::to_string(device.card);
    if (device.tiles.size() == static_cast<std::size_t>(topology.tiles)) continue;
    std::string tiles;
    for (const int tile : device.tiles) tiles += (tiles.empty() ? "" : ",") + std::to_string(tile);
    text += device.tiles.size() == 1 ? "." + tiles : ".{" + tiles + "}";
  }
  return text;
}

}  // namespace proctor
