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
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/core/child_protocol.h"
#include "harness/devices/probe/describe.h"

namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

int events_fd() {
  const char* value = std::getenv(proctor::child::kEventsFdVariable);
  return value != nullptr && *value != '\0' ? std::atoi(value) : -1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool to_stdout = argc == 2 && std::strcmp(argv[1], "--stdout") == 0;
  const int fd = to_stdout ? STDOUT_FILENO : events_fd();
  if ((argc > 1 && !to_stdout) || fd < 0) {
    std::cerr << "usage: proctor-probe-xpu --stdout   (or with PROCTOR_EVENTS_FD set)\n";
    return 2;
  }
  const auto document = proctor::probe::describe_level_zero();
  const auto text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // No destructor of a driver may spoil the answer: the exit handlers of drivers are where probes hang.
  const bool written = write_all(fd, text);
  _exit(written ? 0 : 1);
}
