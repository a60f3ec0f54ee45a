// The devices that this run may use (the pool), and enumerations by children under masks of these devices. The
// checks of CUDA use it.
//
// The runner names the pool in PROCTOR_POOL. Without that variable, the pool is what the suite's own
// CUDA_VISIBLE_DEVICES leaves; a caller may have set it. Every mask that a check makes stays within the pool.
// Reports of a check name no device outside of the pool.
#pragma once

#include "harness/base/words.h"
#include "suites/visibility/child_process.h"
#include "suites/visibility/cuda/mask_values.h"
#include "suites/visibility/enumeration.h"

namespace proctor::visibility {

inline constexpr const char* kMask = "CUDA_VISIBLE_DEVICES";
inline constexpr const char* kOrder = "CUDA_DEVICE_ORDER";
inline constexpr const char* kByBus = "PCI_BUS_ID";
inline constexpr const char* kLevelZeroDrivers = "ZE_ENABLE_ALT_DRIVERS";

// The devices that this run may use, with their names and ordinals.
struct Pool {
  std::vector<DeviceRecord> devices;  // in PCI order
  Names names;

  bool is_whole_machine() const { return names.pool.size() == names.machine.size(); }
  // `i` is the place in the pool.
  const std::string& uuid(std::size_t i) const { return names.pool[i]; }
  std::string ordinal(std::size_t i) const;
  std::string mask() const;  // all devices of the pool, by name
  std::string ordinal_mask() const;
};

// The pool, with at least `devices` devices. If it has fewer, the check ends as skip(needs:devices>=N). If the
// runtime has none, the check ends as skip(no_device), skip(no_driver), skip(driver_too_old) or skip(init:CODE).
Pool pool_of(std::size_t devices = 1);

// The UUIDs of the devices in NVML; empty if NVML is not available.
ManagedUuids uuids_of_nvml();

// Enumerates under CUDA_DEVICE_ORDER=PCI_BUS_ID and this mask.
Enumeration enumerate_under(const std::string& mask);
// The variables {CUDA_DEVICE_ORDER=PCI_BUS_ID, CUDA_VISIBLE_DEVICES=mask}.
Variables masked(const std::string& mask);

// The names of the devices that the check has leased, at least `devices`. The check may create a context only on
// these.
std::vector<std::string> leased(std::size_t devices);

std::vector<std::string> uuids(const Enumeration& seen);
// The complete result as a text for failures: "cudaSuccess GPU-.. GPU-..". On hardware, any failure is "nothing".
std::string text_of(const Enumeration& seen);
std::string expected_text(const std::vector<std::string>& uuids);

// The document that contains most rules of this suite.

inline constexpr const char* kGuide = "CUDA Programming Guide, CUDA Environment Variables";

}  // namespace proctor::visibility
