// Bytes in host memory at an aligned address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "suites/collectives/numbers.h"

namespace proctor::collectives {

class HostMemory {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit HostMemory(const Bytes& bytes)
      : size_(bytes.size()), memory_(std::make_unique<std::byte[]>(size_ + kAlignment)) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    data_ = memory_.get() + (kAlignment - address % kAlignment) % kAlignment;
    std::copy(bytes.begin(), bytes.end(), data_);
  }

  std::byte* data() const { return data_; }
  Bytes bytes() const { return {data_, data_ + size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* data_;
};

}  // namespace proctor::collectives
