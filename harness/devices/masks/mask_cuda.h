// Reads CUDA_VISIBLE_DEVICES by the rules of NVIDIA's CUDA Programming Guide ("CUDA Environment Variables").
// The mask is a list, and its order is the order of the devices. The first entry that names no device hides
// itself and everything after it. The guide does not define tails, signs, duplicates and mixed kinds. For
// these, the model follows PyTorch's model of the driver (torch/cuda/__init__.py, _parse_visible_devices).
// Such results have the mark F until they are checked on hardware.
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

// The physical devices in PCI order. If no names are known, the device of an entry GPU-… or MIG-… is assumed to
// exist.
struct CudaHost {
  int devices = 1;
  std::vector<std::string> uuids;  // "GPU-8932f937-…", one per device; empty: unknown
  std::vector<std::string> migs;   // "MIG-…"
};

// A device that a mask selects.
struct CudaDevice {
  std::optional<int> ordinal;  // physical, in PCI order
  std::string name;            // the mask's GPU-… or MIG-…, if its ordinal is unknown
  friend bool operator==(const CudaDevice&, const CudaDevice&) = default;
};

// The devices that a mask selects, and the reason why later entries have no effect.
struct CudaSelection {
  std::vector<CudaDevice> devices;  // in the order that CUDA uses
  // entry (1..) that ended the list: it and all later entries are hidden
  std::optional<std::size_t> ended_at;
  std::string ended_why;                    // "-1 names no device"
  std::optional<std::size_t> duplicate_at;  // repeats an earlier entry: PyTorch's model then selects nothing
};

// Reads any value as the driver is assumed to read it; nullopt means that the variable is not set. If there is no
// host, no ordinal is out of range, and nullopt has an empty selection.
CudaSelection select_cuda(std::optional<std::string_view> value, const std::optional<CudaHost>& host);

// Returns "2 0", "GPU-8932f937" or "nothing".
std::string to_string(const std::vector<CudaDevice>& devices);

MaskLint lint_cuda_mask(std::string_view value, const std::optional<CudaHost>& host);

}  // namespace proctor
