// A TCP port of the loopback interface that nobody uses.
#pragma once

#include "harness/base/result.h"

namespace proctor {

// For the next minute the kernel does not give this port to a program that asks for any port, because a
// connection of it is in TIME_WAIT. A program that binds to its number with SO_REUSEADDR, as rendezvous
// servers do, gets it. So two runs never get the same port.
Result<int> reserve_port();

}  // namespace proctor
