// CUDA_VISIBLE_DEVICES by the rules of NVIDIA's CUDA Programming Guide ("CUDA Environment Variables"): the
// mask is a list, its order is the order of the devices, and the first entry that names no device hides
// itself and everything after it. Where the guide is silent (tails, signs, duplicates, mixed kinds) the model
// follows PyTorch's model of the driver (torch/cuda/__init__.py, _parse_visible_devices); such results carry
// the mark F until they are checked on hardware.
//
// Grammar accepted here: entry *( "," entry ); entry = ordinal | "-1" | "GPU-" hex digits | "MIG-" name;
// blanks around entries; or the empty string, which hides everything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/devices/masks/mask.h"

namespace proctor {

// The physical devices in PCI order. If no names are known, the device of an entry GPU-… or MIG-… is assumed
// to exist.
struct CudaHost {
  int devices = 1;
  std::vector<std::string> uuids;  // "GPU-8932f937-…", one a device, or empty: not known
  std::vector<std::string> migs;   // "MIG-…"
};

struct CudaDevice {
  std::optional<int> ordinal;  // physical, in PCI order
  std::string name;            // the mask's own GPU-… or MIG-…, when no ordinal is known for it
  friend bool operator==(const CudaDevice&, const CudaDevice&) = default;
};

struct CudaSelection {
  std::vector<CudaDevice> devices;      // in the order that CUDA gives them
  std::optional<std::size_t> ended_at;  // entry (1..) that ended the list; it and all after it are hidden
  std::string ended_why;                // "-1 names no device"
  std::optional<std::size_t>
      duplicate_at;  // entry that repeats an earlier one: PyTorch's model selects nothing
};

// Accepts any value and reads it as the driver is believed to do; nullopt means that the variable is not set.
// Without a host, no ordinal is out of range, and nullopt selects nothing that could be listed.
CudaSelection select_cuda(std::optional<std::string_view> value, const std::optional<CudaHost>& host);

// "2 0", "GPU-8932f937", "nothing".
std::string to_string(const std::vector<CudaDevice>& devices);

MaskLint lint_cuda_mask(std::string_view value, const std::optional<CudaHost>& host);

}  // namespace proctor
