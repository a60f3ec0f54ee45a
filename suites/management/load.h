// Work that a card can be watched at.
#pragma once

#include <cstdint>

#include "suites/accel/check_fixture.h"

namespace proctor::accel {

// Writes so many words of 8 bytes and judges them, by kernels.
void work_on_memory(const Context& context, std::uint32_t words);
// Copies so many bytes to the device and back.
void work_on_link(const Context& context, std::size_t bytes);

}  // namespace proctor::accel
