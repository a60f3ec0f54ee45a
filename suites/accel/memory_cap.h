// The option --mem-cap limits the memory that the buffers of this process may allocate on each device. The
// variable PROCTOR_MEM_CAP contains the limit in bytes; if it is unset, there is no limit. A cap makes a
// larger card behave like a smaller one: an allocation beyond the cap fails like an allocation on a full
// device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "suites/accel/accel.h"

namespace proctor::accel {

// Skip reason of checks that need the device's whole memory.
inline constexpr const char* kNeedsNoCap = "needs:no_mem_cap";

// Counts the memory of the buffers on each device, and refuses allocations beyond the cap.
class MemoryCap {
 public:
  static MemoryCap& of_process();
  bool is_set() const { return cap_.has_value(); }

  // Calls `allocate`, which sets `pointer`, unless the allocation would exceed the cap. A request that is
  // larger than the whole device is passed to the driver, so that the driver's own refusal is tested.
  Status allocate(const Device& device, std::uint64_t bytes, void** pointer,
                  const std::function<Status()>& allocate);
  // Calls `release`. The allocation is removed from the account first, because the driver may then reuse the
  // address in another thread.
  Status free(void* pointer, const std::function<Status()>& release);
  // Returns how much of the driver's value `free` is within the cap.
  std::uint64_t left(const Device& device, std::uint64_t free);

 private:
  struct Held {
    const DeviceRecord* device = nullptr;
    std::uint64_t bytes = 0;
  };
  using Account = std::map<void*, Held>;

  MemoryCap();
  Account::node_type take_out(void* pointer);
  void put_back(Account::node_type held);

  const std::optional<std::uint64_t> cap_;
  std::mutex mutex_;
  std::map<const DeviceRecord*, std::uint64_t> taken_;
  Account held_;
};

// Returns the memory of the device that this process can still allocate: the free memory within the cap.
std::uint64_t available_memory(const Device& device);

}  // namespace proctor::accel
