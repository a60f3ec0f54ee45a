// What who starts a container says to the Proctor in it, which cannot find it out. The files of a stack set this
// variable (harness/stack/render_stack.cc).
#pragma once

namespace proctor {

// "host" = /run/lock is the host's, so that leases in it exclude the host and other containers.
inline constexpr const char* kLeasesVariable = "PROCTOR_LEASES";
inline constexpr const char* kLeasesOfHost = "host";

}  // namespace proctor
