// The memory of another process, read without stopping it. Everything that is read may be half-changed or
// wrong, so callers limit how far they follow it.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>

namespace proctor {

class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid) : pid_(pid) {}

  // False unless all `size` bytes were read.
  bool read(std::uint64_t address, void* to, std::size_t size) const {
    iovec local{to, size};
    iovec remote{reinterpret_cast<void*>(address), size};  // NOLINT: an address of the other process
    const ssize_t got = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (got < 0 && errno == EPERM) refused_ = true;
    return got == static_cast<ssize_t>(size);
  }

  template <typename T>
  std::optional<T> get(std::uint64_t address) const {
    T value{};
    if (!read(address, &value, sizeof(T))) return std::nullopt;
    return value;
  }

  // Whether reading was refused (EPERM) and not just impossible.
  bool refused() const { return refused_; }

 private:
  pid_t pid_;
  mutable bool refused_ = false;
};

}  // namespace proctor
