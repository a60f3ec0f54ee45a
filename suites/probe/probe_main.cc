#include "suites/probe/probe_main.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/journal/child_protocol.h"
#include "suites/probe/facts.h"
#include "suites/probe/write_line.h"

namespace proctor::probe {
namespace {

int events_fd() {
  const char* value = std::getenv(child::kEventsFdVariable);
  return value != nullptr && *value != '\0' ? std::atoi(value) : -1;
}

}  // namespace

void probe_main(int argc, char** argv, const Program& program) {
  const bool to_stdout = argc == 2 && std::strcmp(argv[1], "--stdout") == 0;
  const bool stays = argc == 3 && std::strcmp(argv[1], "--monitor") == 0;
  const bool asked = argc == 3 && std::strcmp(argv[1], "--facts") == 0;
  const int fd = to_stdout ? STDOUT_FILENO : events_fd();
  if ((argc > 1 && !to_stdout && !stays && !asked) || fd < 0) {
    std::cerr << "usage: " << program.name << " --stdout   (or with PROCTOR_EVENTS_FD set)\n";
    _exit(2);
  }
  if (stays) _exit(monitor(argv[2], fd, program.open_devices));
  const auto answer = [&] {
    if (!asked) return program.describe();
    const auto devices = program.open_devices();
    return devices ? devices->facts(std::strtoul(argv[2], nullptr, 10))
                   : facts_document(program.name, "the devices cannot be listed", {});
  };
  const bool written = write_line(fd, answer());
  // No destructor of a driver may spoil the answer: the exit handlers of drivers are where probes hang.
  _exit(written ? 0 : 1);
}

}  // namespace proctor::probe
