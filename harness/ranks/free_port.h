// A TCP port of the loopback interface that is nobody's.
#pragma once

#include "harness/core/result.h"

namespace proctor {

// Whoever asks the kernel for any port does not get it for the next minute, because a connection
// of it is in TIME_WAIT; whoever binds to it by number with SO_REUSEADDR, as rendezvous servers
// do, can. So two runs never meet.
Result<int> reserve_port();

}  // namespace proctor
