// --mem-cap: how much memory of each device the buffers of this process may have together (PROCTOR_MEM_CAP, in bytes;
// unset: whatever the driver gives). A larger card then behaves as a small one: at the cap a buffer is refused as a driver
// refuses it that has no more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "suites/accel/accel.h"

namespace proctor::accel {

// Why a check is skipped that goes to the end of the device itself.
inline constexpr const char* kNeedsNoCap = "needs:no_mem_cap";

class MemoryCap {
 public:
  static MemoryCap& of_process();
  bool is_set() const { return cap_.has_value(); }

  // Calls `allocate`, which sets `pointer`, unless the device would hold more than the cap. What no device of this size
  // can give is left for the driver to refuse, in its own words.
  Status allocate(const Device& device, std::uint64_t bytes, void** pointer,
                  const std::function<Status()>& allocate);
  // Calls `release`. The account is closed before it: from then on the driver may give the same address to another thread.
  Status free(void* pointer, const std::function<Status()>& release);
  // What is left of `free`, as the driver says it.
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

// The memory of the device that this process can still take: what is free, within the cap.
std::uint64_t available_memory(const Device& device);

}  // namespace proctor::accel
