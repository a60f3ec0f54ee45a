// The memory of a rank's tensors: host memory, or memory of the rank's device. host.cc and device.cc
// implement this header. The linker selects one of them, so the code of a check is the same for all backends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "suites/collectives/numbers.h"
#include "suites/main/lease_check.h"

namespace proctor::collectives {

// The memory in which the tensors of this rank are allocated.
class MemorySpace {
 public:
  // Ends the check as a skip if there is no device.
  MemorySpace();
  ~MemorySpace();
  MemorySpace(const MemorySpace&) = delete;
  MemorySpace& operator=(const MemorySpace&) = delete;

  struct Impl;

 private:
  friend class Tensor;
  std::unique_ptr<Impl> impl_;
};

// Memory that a library works on. If the tensors are on a device and the library uses host memory, the bytes
// are copied through the device in both directions ("staged"). If the library uses device memory, it works on
// the tensor's own memory.
class Tensor {
 public:
  // The address is aligned to 64 bytes and never null.
  Tensor(MemorySpace& space, Memory memory, const Bytes& bytes);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  std::byte* data() const;
  // Returns the current contents.
  Bytes bytes() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// Returns the number of devices of each rank.
int devices_of_a_rank();
// Return the requirements of all checks of the suite, and the function that lists the visible devices
// (run_main).
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
