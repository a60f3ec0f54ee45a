// Copies and fills that also verify their surroundings, for checks of copies on both vendors. The bytes in the
// range must arrive, and the bytes around it must not change.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/main/check_info.h"

namespace proctor::accel {

// Spreads the points of a check over the device and its tiles. The same number always selects the same place, so a
// failure can be repeated with one point.
class PointPlaces {
 public:
  explicit PointPlaces(const Device& device);
  const Context& at(std::size_t number);
  // Reports the measure covered.tiles, the number of tiles that were tried. Reports nothing for a device without
  // tiles.
  void record() const;

 private:
  std::vector<Context> places_;
  std::set<std::size_t> tried_;  // indexes of tiles
};

// The axis of sizes of copies and fills, up to many pages. The host holds the compared bytes several times.
Axis guarded_bytes();

// The places of the bytes before and after a copy.
struct Route {
  MemoryKind from = MemoryKind::kDevice;
  MemoryKind to = MemoryKind::kDevice;
  Queue::Mode mode = Queue::Mode::kLists;
  std::size_t from_offset = 0;  // offset from a multiple of 128
  std::size_t to_offset = 0;
};

// Copies `bytes` bytes into the middle of a destination that is full of another pattern, and verifies all of it.
void copy_between_guards(const Context& context, const Route& route, std::size_t bytes);
// Calls copy_between_guards() for sizes around multiples that suit hardware.
void copy_all_sizes(const Route& route);

// Copies for each pair of shifts below 16. Each copy begins the first shift after a multiple of 64, and arrives
// the second shift after one. The lengths are from 1 to 47 bytes.
void copy_all_alignments(const Context& context, MemoryKind from, MemoryKind to);

// A fill: the size of its pattern, its number of bytes and its place.
struct FillShape {
  std::size_t pattern = 1;  // bytes of the pattern
  std::size_t bytes = 0;    // bytes in total
  std::size_t offset = 0;   // offset from a multiple of 128
  Queue::Mode mode = Queue::Mode::kLists;
};
// Fills a range of device memory that is surrounded by other bytes, and verifies all of it.
void fill_between_guards(const Context& context, const FillShape& shape);

}  // namespace proctor::accel
