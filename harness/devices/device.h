// A device that can be leased. Its id is its identity, and not an index that a mask can change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/journal/events.h"

namespace proctor {

struct Device {
  // "xpu:0000:03:00.0", or "xpu:UUID" without a PCI address; "cuda:GPU-UUID", "xpu-sim:N", "cuda-sim:N"
  std::string id;
  std::string backend;  // "xpu" or "cuda"
  std::string name;
  std::string type;  // "gpu", ...
  std::string uuid;  // for CUDA the name in masks: "GPU-...", "MIG-..."
  std::string pci;   // empty: the driver does not report it
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  int ordinal = -1;        // in the probe's order, without a mask; -1: none
  std::string capability;  // for CUDA: "9.0"
  int tiles = 1;
  std::vector<std::string> tile_uuids;  // of the tiles that are sub-devices of it, in their order
  std::uint64_t memory_bytes = 0;
  bool integrated = false;
  bool simulated = false;
};

PlannedDevice to_planned(const Device& device);

// ---- Device nodes ----
// These functions check for nodes that this process can open. They guess the vendor before a driver is
// loaded.

bool has_nvidia_node();  // /dev/nvidia0 ...
bool has_intel_node();   // a render node of an Intel device
// Like has_intel_node(), but ignores the processor's own graphics, which is PCI device 0000:00:02.0 (source:
// the datasheets of Intel's processors, "Processor Graphics").
bool has_discrete_intel_node();

}  // namespace proctor
