// What a mask means, entry by entry, for any value, also for those that the linter refuses. This is pure
// data; the command line prints it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/devices/masks/mask.h"
#include "harness/devices/masks/mask_cuda.h"
#include "harness/devices/masks/mask_table.h"

namespace proctor {

struct ExplainedEntry {
  MaskEntry entry;
  std::string meaning;
};

struct VisibleSet {
  std::string under;    // "COMPOSITE", "FLAT and COMBINED", or empty
  std::string devices;  // "0 1", "nothing"
};

struct MaskExplanation {
  std::vector<ExplainedEntry> entries;  // none for ''
  std::vector<VisibleSet> visible;      // empty if the driver fails before that
  std::vector<std::string> driver;      // Level Zero: what each version of Intel's driver does
  std::vector<MaskRule> rules;          // the rules that the value uses, each once
  std::string known;                    // what the truth table says about exactly this value, or empty
};

MaskExplanation explain_xpu_mask(std::string_view value, std::optional<Hierarchy> hierarchy,
                                 const Topology& topology);
MaskExplanation explain_cuda_mask(std::string_view value, const CudaHost& host);

}  // namespace proctor
