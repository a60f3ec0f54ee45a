// A Level Zero device as a mask leaves it: which card, and which of its tiles.
#pragma once

#include <string>
#include <vector>

#include "harness/devices/masks/mask.h"

namespace proctor {

// One device as zeDeviceGet returns it. Under COMPOSITE it is a card, under FLAT and COMBINED a tile.
struct XpuDevice {
  int card = 0;
  std::vector<int> tiles;  // physical tiles that it stands for, ascending; a whole card has all of them
  friend bool operator==(const XpuDevice&, const XpuDevice&) = default;

  // What zeDeviceGetSubDevices returns: the tiles, unless there is only one (the card collapses into it).
  std::vector<int> sub_devices() const { return tiles.size() > 1 ? tiles : std::vector<int>{}; }
};

// "0 1" two whole cards; "0.2" one tile; "1.{1,2}" one card with two tiles left; "nothing".
std::string to_string(const std::vector<XpuDevice>& devices, const Topology& topology);

}  // namespace proctor
