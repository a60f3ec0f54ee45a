// proctor-probe-xpu: loads Level Zero, lists what is there, prints one JSON document and exits. It runs in a
// contained child of the runner, because loading a driver may hang, crash or write files.
//
// The document goes to the descriptor in PROCTOR_EVENTS_FD as one line, or to stdout with --stdout:
//   {"v":1, "problem":"" | "library_missing:libze_loader.so.1" | "no_driver" | "no_device" | "init:CODE" |
//    "enumerate:CODE", "detail":TEXT, "loader":{"path","version"}, "missing_symbols":[..],
//    "init":CODE, "drivers":[{"library","version","release","api","devices":[{"name","type",
//    "vendor_id","device_id","uuid","pci","integrated","subdevice","memory_bytes",
//    "sub_devices":[{"uuid","subdevice_id"}]}]}]}
// Codes are spelled as in the specification, e.g. ZE_RESULT_ERROR_UNINITIALIZED. Exit status: 0 whenever a
// document was written, 2 for a usage error, 1 when it could not be written.
//
// With --monitor FIFO it stays and says how the devices are whenever it is asked (monitor.h).
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/core/child_protocol.h"
#include "harness/devices/probe/describe.h"
#include "harness/devices/probe/monitor.h"
#include "harness/devices/probe/write_line.h"

namespace {

int events_fd() {
  const char* value = std::getenv(proctor::child::kEventsFdVariable);
  return value != nullptr && *value != '\0' ? std::atoi(value) : -1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool to_stdout = argc == 2 && std::strcmp(argv[1], "--stdout") == 0;
  const bool stays = argc == 3 && std::strcmp(argv[1], "--monitor") == 0;
  const int fd = to_stdout ? STDOUT_FILENO : events_fd();
  if ((argc > 1 && !to_stdout && !stays) || fd < 0) {
    std::cerr << "usage: proctor-probe-xpu --stdout   (or with PROCTOR_EVENTS_FD set)\n";
    return 2;
  }
  if (stays) _exit(proctor::probe::monitor(argv[2], fd));
  const bool written = proctor::probe::write_line(fd, proctor::probe::describe_level_zero());
  // No destructor of a driver may spoil the answer: the exit handlers of drivers are where probes hang.
  _exit(written ? 0 : 1);
}
