// The memory of another process, read without stopping it. Everything read may be torn or wild: callers bound
// what they follow.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace proctor {

class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid) : pid_(pid) {}

  // False unless all `size` bytes were read.
  bool read(std::uint64_t address, void* to, std::size_t size) const;

  template <typename T>
  std::optional<T> get(std::uint64_t address) const {
    T value{};
    if (!read(address, &value, sizeof(T))) return std::nullopt;
    return value;
  }

  // Whether reading was refused rather than impossible (EPERM).
  bool refused() const { return refused_; }

 private:
  pid_t pid_;
  mutable bool refused_ = false;
};

}  // namespace proctor
