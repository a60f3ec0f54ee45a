#include "suites/collectives/sockets.h"

#include <cstdlib>
#include <filesystem>

namespace proctor::collectives {

Sockets open_sockets() {
  Sockets sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;  // the descriptor of this very look is gone by now
    const auto target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.starts_with("socket:")) sockets.emplace(std::atoi(entry.path().filename().c_str()), target);
  }
  return sockets;
}

Sockets opened_since(const Sockets& before) {
  Sockets opened = open_sockets();
  std::erase_if(opened, [&](const auto& socket) {
    const auto was = before.find(socket.first);
    return was != before.end() && was->second == socket.second;
  });
  return opened;
}

}  // namespace proctor::collectives
