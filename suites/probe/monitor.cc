#include "suites/probe/monitor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "suites/probe/write_line.h"

namespace proctor::probe {
namespace {

// Reads `size` bytes; false at the end of the FIFO.
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

}  // namespace proctor::probe
