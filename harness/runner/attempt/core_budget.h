// How much of the disk the cores of a run may take.
#pragma once

#include <algorithm>
#include <cstdint>

namespace proctor {

class CoreBudget {
 public:
  static constexpr std::uint64_t kMostOfRun = std::uint64_t{1} << 30;

  // The room for one core, in bytes. The other half of what is left is for those that crash meanwhile.
  std::uint64_t reserve() {
    const std::uint64_t room = (kMostOfRun - std::min(kMostOfRun, bytes_)) / 2;
    bytes_ += room;
    return room;
  }
  // Of that room, the core takes `bytes`; 0: it is not kept, or no longer.
  void settle(std::uint64_t room, std::uint64_t bytes) { bytes_ = bytes_ - room + bytes; }

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace proctor
