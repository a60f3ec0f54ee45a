// Shared code of the fuzzers. A reader must return for any bytes. The fuzzers look for crashes, endless loops and
// unlimited memory. The custom mutator adds depth and size, which coverage does not lead to (fuzz.cc).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor::fuzz {

// Aborts if an invariant of the reader does not hold.
inline void check(bool holds) {
  if (!holds) std::abort();
}

// The bytes as a file, for readers that take a path. The file has no name and ends with the process.
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

// Gives the input to one reader. The first byte selects it ('0': the first reader, and so on); the reader gets the
// remaining bytes.
void give(const std::uint8_t* data, std::size_t size,
          const std::vector<std::function<void(const std::string&)>>& readers);

}  // namespace proctor::fuzz
