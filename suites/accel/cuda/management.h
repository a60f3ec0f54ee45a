// What NVIDIA's management library says about a device: not masked, not of this process alone.
#pragma once

#include "suites/accel/accel.h"

namespace proctor::accel {

// Total memory of the card, as the management library tells it. Ends the check as a skip where it does not.
std::uint64_t managed_memory(const Device& device);

}  // namespace proctor::accel
