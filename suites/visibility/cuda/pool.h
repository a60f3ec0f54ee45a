// The devices that this run may use, and how a child is asked about them.
//
// The runner says what the pool is (PROCTOR_POOL). Without that variable it is what the suite's own
// CUDA_VISIBLE_DEVICES leaves, which a caller may have set. Every mask that a check builds stays within the
// pool, and the reports of a check name nothing outside of it.
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

struct Pool {
  std::vector<DeviceRecord> devices;  // in PCI order
  Names names;

  bool is_whole_machine() const { return names.pool.size() == names.machine.size(); }
  // By place in the pool.
  const std::string& uuid(std::size_t i) const { return names.pool[i]; }
  std::string ordinal(std::size_t i) const;
  std::string mask() const;  // all of it, by name
  std::string ordinal_mask() const;
};

// The pool, with at least `devices` devices; otherwise the check ends as skip(needs:devices>=N), or, when the
// runtime has none at all, as skip(no_device), skip(no_driver), skip(driver_too_old) or skip(init:CODE).
Pool pool_of(std::size_t devices = 1);

// NVML's UUIDs of the devices; empty where it cannot be asked.
ManagedUuids uuids_of_nvml();

// Enumerates under CUDA_DEVICE_ORDER=PCI_BUS_ID and this mask.
Enumeration enumerate_under(const std::string& mask);
// {CUDA_DEVICE_ORDER=PCI_BUS_ID, CUDA_VISIBLE_DEVICES=mask}
Variables masked(const std::string& mask);

// The names of the devices that the check has leased: on these it may make a context. There are at least
// `devices`.
std::vector<std::string> leased(std::size_t devices);

std::vector<std::string> uuids(const Enumeration& seen);
// "cudaSuccess GPU-.. GPU-..", so that a failure shows all of it. Any failure is "nothing" on hardware.
std::string text_of(const Enumeration& seen);
std::string expected_text(const std::vector<std::string>& uuids);

// The document that most rules of this suite come from.

inline constexpr const char* kGuide = "CUDA Programming Guide, CUDA Environment Variables";

}  // namespace proctor::visibility
