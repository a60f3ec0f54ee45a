// Copies and fills whose surroundings are judged too: the bytes in the range arrive, and the bytes around it
// stay.
#pragma once

#include <cstddef>

#include "suites/accel/check_fixture.h"

namespace proctor::accel {

// Where the bytes lie before the copy and after it.
struct Route {
  Kind from = Kind::kDevice;
  Kind to = Kind::kDevice;
  Queue::Mode mode = Queue::Mode::kLists;
  std::size_t offset = 0;  // makes both addresses odd
};

// A destination full of one pattern, in the middle of which another one must arrive.
void copy_between_guards(const Context& context, const Route& route, std::size_t bytes);
// The same for sizes around those that suit hardware.
void copy_all_sizes(const Route& route);

// `times` patterns of `pattern_bytes` in the middle of other bytes.
void fill_between_guards(const Context& context, Queue::Mode mode, std::size_t pattern_bytes,
                         std::size_t times);

}  // namespace proctor::accel
