// Where the tensors of a rank live: in host memory, or on the rank's device. One header; host.cc and
// device.cc implement it, chosen at link time, so that a check is the same on all backends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "suites/collectives/numbers.h"
#include "suites/main/lease_check.h"

namespace proctor::collectives {

class MemorySpace {
 public:
  // Ends the check as a skip when there is no device.
  MemorySpace();
  ~MemorySpace();
  MemorySpace(const MemorySpace&) = delete;
  MemorySpace& operator=(const MemorySpace&) = delete;

  struct Impl;

 private:
  friend class Tensor;
  std::unique_ptr<Impl> impl_;
};

// Memory that a library works on. If the tensors live on a device and the library takes host memory, the
// bytes go through the device on their way to the library and on their way back ("staged"). If the library
// takes device memory, it works on the tensor's own memory.
class Tensor {
 public:
  // Aligned to 64 bytes, and never without an address.
  Tensor(MemorySpace& space, Memory memory, const Bytes& bytes);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  std::byte* data() const;
  // The present contents.
  Bytes bytes() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// How many devices each rank has.
int devices_of_a_rank();
// What all checks of the suite need, and how they learn which devices they see (run_main).
std::vector<std::string> needs_of_the_suite();
suite::VisibleDevices visible_devices();

// Bytes in host memory at an aligned address.
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
