// Explains a mask entry by entry, for any value, including those that the linter refuses. The result is pure
// data, which the command line prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/devices/masks/mask.h"
#include "harness/devices/masks/mask_cuda.h"
#include "harness/devices/masks/mask_table.h"

namespace proctor {

// The meaning of one entry of the mask.
struct ExplainedEntry {
  MaskEntry entry;
  std::string meaning;
};

// The visible devices under one hierarchy.
struct VisibleSet {
  std::string under;    // "COMPOSITE", "FLAT and COMBINED", or empty
  std::string devices;  // "0 1", "nothing"
};

// The explanation of one mask.
struct MaskExplanation {
  std::vector<ExplainedEntry> entries;  // none for ''
  std::vector<VisibleSet> visible;      // empty if the driver fails earlier
  std::vector<std::string> driver;      // Level Zero: the behaviour of each version of Intel's driver
  std::vector<MaskRule> rules;          // the rules that apply to the value, each once
  std::string known;                    // the row of the truth table for exactly this value, or empty
};

MaskExplanation explain_xpu_mask(std::string_view value, std::optional<Hierarchy> hierarchy,
                                 const Topology& topology);
MaskExplanation explain_cuda_mask(std::string_view value, const CudaHost& host);

}  // namespace proctor
