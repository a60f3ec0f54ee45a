// Limits how much disk space the core files of a run use. EvidenceSnapshot uses it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace proctor {

class CoreBudget {
 public:
  static constexpr std::uint64_t kMostOfRun = std::uint64_t{1} << 30;

  // Reserves space for one core and returns it in bytes. The other half of the remaining space is for concurrent
  // crashes.
  std::uint64_t reserve() {
    const std::uint64_t room = (kMostOfRun - std::min(kMostOfRun, bytes_)) / 2;
    bytes_ += room;
    return room;
  }
  // Replaces the reserved `room` by the size of the core; 0: the core is not kept.
  void settle(std::uint64_t room, std::uint64_t bytes) { bytes_ = bytes_ - room + bytes; }

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace proctor
