// Copies and fills whose surroundings are judged too: the bytes in the range arrive, and the bytes around it
// stay.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/main/check_info.h"

namespace proctor::accel {

// Spreads the points of a check over the device and its tiles. The same number leads to the same place, so that one point
// repeats a failure.
class PointPlaces {
 public:
  explicit PointPlaces(const Device& device);
  const Context& at(std::size_t number);
  // Reports the measure covered.tiles: how many tiles were tried. On a device without tiles, there is nothing to report.
  void record() const;

 private:
  std::vector<Context> places_;
  std::set<std::size_t> tried_;  // tiles
};

// Sizes of either, up to many pages: what a check compares lies on the host several times.
Axis guarded_bytes();

// Where the bytes lie before the copy and after it.
struct Route {
  MemoryKind from = MemoryKind::kDevice;
  MemoryKind to = MemoryKind::kDevice;
  Queue::Mode mode = Queue::Mode::kLists;
  std::size_t from_offset = 0;  // from a multiple of 128
  std::size_t to_offset = 0;
};

// A destination full of one pattern, in the middle of which another one must arrive.
void copy_between_guards(const Context& context, const Route& route, std::size_t bytes);
// The same for sizes around those that suit hardware.
void copy_all_sizes(const Route& route);

// A copy that begins `from_shift` bytes behind a multiple of 64 and arrives `to_shift` bytes behind one, for each pair of
// shifts below 16, with lengths that are no multiple of anything.
void copy_all_alignments(const Context& context, MemoryKind from, MemoryKind to);

struct FillShape {
  std::size_t pattern = 1;  // its bytes
  std::size_t bytes = 0;    // in all
  std::size_t offset = 0;   // from a multiple of 128
  Queue::Mode mode = Queue::Mode::kLists;
};
// A fill of device memory in the middle of other bytes.
void fill_between_guards(const Context& context, const FillShape& shape);

}  // namespace proctor::accel
