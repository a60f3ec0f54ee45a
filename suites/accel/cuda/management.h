// What NVIDIA's management library says about a device. It ignores masks and speaks of all processes.
#pragma once

#include "suites/accel/accel.h"

namespace proctor::accel {

// Total memory of the card, as the management library tells it. Ends the check as a skip if the library does
// not tell.
std::uint64_t managed_memory(const Device& device);

}  // namespace proctor::accel
