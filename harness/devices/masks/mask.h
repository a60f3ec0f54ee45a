// The common parts of both visibility variables: the machine for which a mask is judged, its entries, and the
// findings of the linter. A mask is the text of CUDA_VISIBLE_DEVICES or ZE_AFFINITY_MASK. The two variables
// look alike and mean different things:
//
//                       CUDA_VISIBLE_DEVICES                      ZE_AFFINITY_MASK
//   ''                  hides every device                        the same as unset: every device
//   1,0                 device 1 comes first                      the same as 0,1
//   0,-1,1              device 0: the first bad entry ends it     devices 0 and 1: the bad entry is skipped
//   names               GPU-…, MIG-…                              ordinals only
//   0                   the first card                            a card or a tile, as set by
//                                                                 ZE_FLAT_DEVICE_HIERARCHY
//
// The linter is therefore stricter than both drivers. It refuses a value on which one of them would crash, or
// which one would silently read as something else. Its message describes how that driver would read the
// value.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

inline constexpr const char* kCudaMaskVariable = "CUDA_VISIBLE_DEVICES";
inline constexpr const char* kXpuMaskVariable = "ZE_AFFINITY_MASK";
inline constexpr const char* kXpuHierarchyVariable = "ZE_FLAT_DEVICE_HIERARCHY";

// The values of ZE_FLAT_DEVICE_HIERARCHY. COMBINED selects the same devices as FLAT; only the handles differ.
enum class Hierarchy { kFlat, kComposite, kCombined };
inline constexpr std::array kAllHierarchies = {Hierarchy::kFlat, Hierarchy::kComposite, Hierarchy::kCombined};

std::string_view to_string(Hierarchy hierarchy);
// Compares exactly, as the driver does. Lower case is a usage error that suggests the right spelling.
Result<Hierarchy> parse_hierarchy(std::string_view text);
// The same for the words of Proctor's options: "flat", "composite", "combined".
std::optional<Hierarchy> parse_hierarchy_word(std::string_view word);

// `cards` cards of `tiles` tiles each. CUDA devices are cards of one tile.
struct Topology {
  int cards = 1;
  int tiles = 1;
  friend bool operator==(const Topology&, const Topology&) = default;
};
// Parses "2x4", or "4" for cards of one tile; at most 1024 cards of 64 tiles.
Result<Topology> parse_topology(std::string_view text);
std::string to_string(const Topology& topology);

// One comma-separated piece of a mask. `text` does not include the blanks (space, tab) around it.
struct MaskEntry {
  std::string text;
  std::size_t number = 1;  // 1..
  std::size_t column = 1;  // of its first byte, 1..
  bool padded = false;     // has blanks around it
};
// Splits a mask: "0,,1" has three entries, the second one empty; "" has one empty entry.
std::vector<MaskEntry> split_mask(std::string_view value);

// Returns "entry 2 '-1'".
std::string to_string(const MaskEntry& entry);

// An entry that the linter refuses, with the reason.
struct MaskRefusal {
  MaskEntry entry;
  std::string why;  // the end of a sentence that begins with the entry: "is empty", "is hexadecimal"
};

// The findings of the linter about one mask.
struct MaskLint {
  std::vector<MaskRefusal> refusals;  // refusals of single entries
  std::string refused_whole;          // why a value with well-formed entries is refused as a whole
  std::vector<std::string> driver;    // how a driver would read a refused value, one sentence each
  std::string suggestion;             // the probable intention, one sentence; may be empty
  std::vector<std::string> warnings;  // of an accepted value
  std::string meaning;                // the meaning of an accepted value, one line

  bool accepted() const { return refusals.empty() && refused_whole.empty(); }
};

// Parses decimal ASCII digits without a leading zero, at most 2^32-1. It never throws and ignores the locale.
std::optional<unsigned> parse_ordinal(std::string_view text);

// Returns why `text` is not an ordinal, as the end of a sentence: "is hexadecimal", "has ';1' after the
// number".
std::string why_not_ordinal(std::string_view text);

// Returns the list of ordinals that was probably intended: "0;1" is "0,1", "0-2" is "0,1,2", "0x1" is "1",
// "1gpu" is "1", "0,,1" is "0,1". Returns "" if the intention is unclear.
std::string repair_ordinals(std::string_view value);

// Returns `text` in single quotes, with escapes for characters that cannot be printed.
std::string in_quotes(std::string_view text);

}  // namespace proctor
