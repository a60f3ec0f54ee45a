// What the probes of both vendors have in common: each loads its driver, lists what is there, prints one JSON
// document and exits. It runs in a contained child of the runner, because loading a driver may hang, crash or
// write files. The document goes to the descriptor in PROCTOR_EVENTS_FD as one line, or to stdout with
// --stdout. Exit status: 0 whenever a document was written, 2 for a usage error, 1 when it could not be
// written.
//
// With --facts INDEX it says what is known of one device (facts.h).
// With --monitor FIFO a probe stays and says how the devices are whenever it is asked (monitor.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "suites/probe/monitor.h"

namespace proctor::probe {

struct Program {
  const char* name;
  nlohmann::json (*describe)();
  OpenDevices open_devices;
};

[[noreturn]] void probe_main(int argc, char** argv, const Program& program);

}  // namespace proctor::probe
