// Whether what the vendor's library reaches in this process is no hardware, by what is loaded here and not by what
// the environment says: a simulator that somebody put below the loader, or a driver in a mode without hardware.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace proctor::probe {

// The path of the simulator of ours that is loaded in this process; "" = none.
std::string loaded_simulator();

// Whether the kernel tells this process what memory of Intel's devices is in use (harness/base/backend.h). A simulator
// answers for the kernel that it stands for.
bool is_reported_memory_use();

// The path of the first library loaded in this process whose path contains one of the names, in their order; "" = none.
std::string loaded_library(std::initializer_list<std::string_view> names);

// Whether this process has a device node of a GPU open. A driver that lists devices of this machine has.
bool has_open_device_node();

}  // namespace proctor::probe
