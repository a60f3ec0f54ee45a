// Reads facts about a device from NVML. NVML ignores visibility masks and covers all processes.
#pragma once

#include <optional>

#include "suites/accel/accel.h"
#include "suites/accel/nvml_types.h"

namespace proctor::accel {

// Returns the total memory of the card that NVML reports. If NVML does not report it, the check ends as a
// skip.
std::uint64_t managed_memory(const Device& device);

// Returns the NVML handle of the device. If NVML does not have the device, the check ends as a skip.
nvml::Device managed_handle(const Device& device);

// Calls an NVML function by its name, for checks of its results. If the function is missing, the check ends
// as a skip. NVML is initialised before the first call.
void* nvml_function(const char* name);
template <typename... Arguments>
int nvml_call(const char* name, Arguments... arguments) {
  return reinterpret_cast<int (*)(Arguments...)>(nvml_function(name))(arguments...);
}

// Returns the memory of the card that NVML reports for a process. Returns nothing if NVML does not have the
// process, for example in a container with its own pids, or does not report it.
std::optional<std::uint64_t> managed_memory_of_process(const Device& device, int pid);

}  // namespace proctor::accel
