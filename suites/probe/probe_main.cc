#include "suites/probe/probe_main.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/journal/child_protocol.h"

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
  // Exits without destructors and exit handlers. The exit handlers of drivers can hang.
  _exit(written ? 0 : 1);
}

namespace {

// Reads `size` bytes. Returns false at the end of the FIFO.
bool read_all(int fd, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, bytes, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

int monitor(const char* fifo, int out_fd, OpenDevices open_devices) {
  const int requests = open(fifo, O_RDONLY | O_CLOEXEC);
  if (requests < 0) return 1;
  std::unique_ptr<WatchedDevices> devices;
  for (char request = 0; read_all(requests, &request, 1);) {
    if (!devices && !(devices = open_devices())) return 1;
    char mask[kMaskDigits + 1] = {};
    if (request == kRequestSample && !read_all(requests, mask, kMaskDigits)) return 0;
    const bool sampled = request == kRequestSample;
    const auto answer = sampled ? devices->sample(std::strtoull(mask, nullptr, 16)) : devices->snapshot();
    if (!write_line(out_fd, answer)) return 1;
  }
  return 0;
}

bool write_line(int fd, const nlohmann::json& document) {
  const std::string line = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::string_view text = line;
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

nlohmann::json facts_document(const char* source, const std::string& problem, const Reading& reading) {
  nlohmann::json document = reading.json();
  document["v"] = 1;
  document["source"] = source;
  document["problem"] = problem;
  return document;
}

}  // namespace proctor::probe
