// Whether a process is told how much memory of an Intel device is in use: the kernel's drivers tell it to CAP_PERFMON and
// CAP_SYS_ADMIN only, and say "nothing" to all others (drm_xe_mem_region::used, drm_i915_memory_region_info::unallocated_size).
// They ask for the capability in the first user namespace: in another one a process has it in vain.
#pragma once

#include <string>

namespace proctor {

// From /proc/PID/status and /proc/PID/uid_map. What cannot be read has no capability.
bool may_see_memory_use(const std::string& status, const std::string& uid_map);
bool this_process_may_see_memory_use();

}  // namespace proctor
