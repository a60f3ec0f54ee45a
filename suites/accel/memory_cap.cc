#include "suites/accel/memory_cap.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "harness/base/number_text.h"
#include "suites/accel/vendor.h"

namespace proctor::accel {
namespace {

constexpr auto kOutOfDeviceMemory = by_vendor<std::uint32_t>(0x70000003, 2);

// Returns 0, which permits no allocation, if the variable is invalid.
std::optional<std::uint64_t> cap_of_environment() {
  const char* text = std::getenv(kMemoryCapVariable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  return error == std::errc{} && end == digits.data() + digits.size() ? bytes : 0;
}

}  // namespace

MemoryCap::MemoryCap() : cap_(cap_of_environment()) {}

MemoryCap& MemoryCap::of_process() {
  static MemoryCap cap;
  return cap;
}

Status MemoryCap::allocate(const Device& device, std::uint64_t bytes, void** pointer,
                           const std::function<Status()>& allocate) {
  if (!cap_) return allocate();
  const std::lock_guard lock(mutex_);
  std::uint64_t& taken = taken_[device.record()];
  if (bytes <= device.properties().memory && taken + bytes > *cap_) return {kOutOfDeviceMemory, "--mem-cap"};
  const Status status = allocate();
  if (!status.ok() || *pointer == nullptr) return status;
  taken += bytes;
  held_[*pointer] = {.device = device.record(), .bytes = bytes};
  return status;
}

Status MemoryCap::free(void* pointer, const std::function<Status()>& release) {
  if (!cap_) return release();
  Account::node_type held = take_out(pointer);
  const Status status = release();
  if (!status.ok()) put_back(std::move(held));  // the device still holds the memory
  return status;
}

MemoryCap::Account::node_type MemoryCap::take_out(void* pointer) {
  const std::lock_guard lock(mutex_);
  Account::node_type held = held_.extract(pointer);
  if (!held.empty()) taken_[held.mapped().device] -= held.mapped().bytes;
  return held;
}

void MemoryCap::put_back(Account::node_type held) {
  if (held.empty()) return;
  const std::lock_guard lock(mutex_);
  taken_[held.mapped().device] += held.mapped().bytes;
  held_.insert(std::move(held));
}

std::uint64_t MemoryCap::left(const Device& device, std::uint64_t free) {
  if (!cap_) return free;
  const std::lock_guard lock(mutex_);
  const std::uint64_t taken = taken_[device.record()];
  return std::min(free, *cap_ - std::min(*cap_, taken));
}

std::uint64_t available_memory(const Device& device) {
  return MemoryCap::of_process().left(device, device.memory().free);
}

}  // namespace proctor::accel
