// What NVIDIA's management library says about a device. It ignores masks and speaks of all processes.
#pragma once

#include <optional>

#include "suites/accel/accel.h"
#include "suites/accel/nvml_types.h"

namespace proctor::accel {

// Total memory of the card, as the management library tells it. Ends the check as a skip if the library does
// not tell.
std::uint64_t managed_memory(const Device& device);

// What NVML calls the device. Ends the check as a skip if the library does not know it.
nvml::Device managed_handle(const Device& device);

// A call of NVML by its name, for checks of what it answers. Ends the check as a skip without that function.
// NVML is initialised before the first one.
void* nvml_function(const char* name);
template <typename... Arguments>
int nvml_call(const char* name, Arguments... arguments) {
  return reinterpret_cast<int (*)(Arguments...)>(nvml_function(name))(arguments...);
}

// The memory of the card that NVML says a process has; none where it does not know the process, as in a container
// with process ids of its own, or does not tell.
std::optional<std::uint64_t> managed_memory_of_process(const Device& device, int pid);

}  // namespace proctor::accel
