// What the fuzzers of readers share. A reader gets any bytes, and has to answer: a crash, an endless loop or memory without
// a limit is what they look for. The mutations know what coverage does not lead to: depth and size (fuzz.cc).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor::fuzz {

// A promise that must hold whatever the bytes are.
inline void check(bool holds) {
  if (!holds) std::abort();
}

// The bytes as a file, for readers that take a path. It has no name and is gone with the process.
class File {
 public:
  explicit File(std::string_view bytes);
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// The first byte says which of the readers gets the others: '0' the first one, and so on.
void give(const std::uint8_t* data, std::size_t size,
          const std::vector<std::function<void(const std::string&)>>& readers);

}  // namespace proctor::fuzz
