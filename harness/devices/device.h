// A device that can be leased: named by identity, never by an index that a mask can shift.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/events.h"

namespace proctor {

struct Device {
  // "xpu:0000:03:00.0", "xpu:UUID" where no PCI address can be had,
  // "cuda:GPU-UUID", "xpu-sim:N", "cuda-sim:N"
  std::string id;
  std::string backend;  // "xpu" or "cuda"
  std::string name;
  std::string type;  // "gpu", ...
  std::string uuid;  // for CUDA the name that its masks know: "GPU-...", "MIG-..."
  std::string pci;   // empty: the driver does not say
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  int ordinal = -1;        // in the probe's own order, without a mask; -1: no program could name it by number
  std::string capability;  // for CUDA: "9.0"
  int tiles = 1;
  std::uint64_t memory_bytes = 0;
  bool integrated = false;
  bool simulated = false;
};

PlannedDevice to_planned(const Device& device);

}  // namespace proctor
