// Detects whether the vendor's library uses real hardware in this process. The other cases are a simulator
// below the loader, and a driver in a mode without hardware. The detection uses the loaded libraries, not the
// environment.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace proctor::probe {

// Returns the path of Proctor's simulator if it is loaded in this process, or "".
std::string loaded_simulator();

// Returns whether the kernel reports the used memory of Intel devices to this process
// (harness/base/backend.h). If a simulator is loaded, its own setting for CAP_PERFMON is returned.
bool is_reported_memory_use();

// Returns the path of the first loaded library whose path contains one of the names, in the order of the
// names, or "".
std::string loaded_library(std::initializer_list<std::string_view> names);

// Returns whether this process has a device node of a GPU open. A driver that lists devices of this machine
// opens one.
bool has_open_device_node();

}  // namespace proctor::probe
