// Memory and process figures of a cgroup v2 directory.
#pragma once

#include <string>

namespace proctor {

// `path` as in /proc/PID/cgroup. One figure a line, as in the kernel's files; "" without cgroup v2.
std::string cgroup_figures(const std::string& path);

}  // namespace proctor
