#include "suites/probe/write_line.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>

namespace proctor::probe {

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

}  // namespace proctor::probe
