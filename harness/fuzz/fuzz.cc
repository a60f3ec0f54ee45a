#include "harness/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

namespace proctor::fuzz {

File::File(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  check(fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
}

File::~File() { ::close(fd_); }

void give(const std::uint8_t* data, std::size_t size,
          const std::vector<std::function<void(const std::string&)>>& readers) {
  if (size == 0) return;
  const auto& reader = readers[static_cast<unsigned char>(data[0] - '0') % readers.size()];
  reader(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
}

}  // namespace proctor::fuzz
