// What the two visibility variables have in common: the machine that a mask is judged on, its entries, and
// what the linter says about it. A mask is the text of CUDA_VISIBLE_DEVICES or ZE_AFFINITY_MASK; the two look
// alike and mean different things:
//
//                       CUDA_VISIBLE_DEVICES                      ZE_AFFINITY_MASK
//   ''                  hides every device                        the same as unset: every device
//   1,0                 device 1 comes first                      the same as 0,1
//   0,-1,1              device 0: the first bad entry ends it     devices 0 and 1: the bad entry is skipped
//   names               GPU-…, MIG-…                              ordinals only
//   what 0 is           a card                                    a card or a tile, as the variable
//                                                                 ZE_FLAT_DEVICE_HIERARCHY decides
//
// So the linter is stricter than both drivers: it refuses a value on which one of them would crash, or which
// one would silently read as something else, and says what that driver would have made of it.
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

// ZE_FLAT_DEVICE_HIERARCHY. COMBINED selects exactly what FLAT selects; it differs in the handles only.
enum class Hierarchy { kFlat, kComposite, kCombined };
inline constexpr std::array kAllHierarchies = {Hierarchy::kFlat, Hierarchy::kComposite, Hierarchy::kCombined};

std::string_view to_string(Hierarchy hierarchy);
// Compares exactly, as the driver does: lower case is a usage error with the near miss.
Result<Hierarchy> parse_hierarchy(std::string_view text);
// The same in the words of our own options: "flat", "composite", "combined".
std::optional<Hierarchy> parse_hierarchy_word(std::string_view word);

// `cards` cards of `tiles` tiles each. CUDA devices are cards of one tile.
struct Topology {
  int cards = 1;
  int tiles = 1;
  friend bool operator==(const Topology&, const Topology&) = default;
};
// "2x4", or "4" for cards of one tile; at most 1024 cards of 64 tiles.
Result<Topology> parse_topology(std::string_view text);
std::string to_string(const Topology& topology);

// One comma-separated piece of a mask. Blanks (space, tab) around it are no part of `text`.
struct MaskEntry {
  std::string text;
  std::size_t number = 1;  // 1..
  std::size_t column = 1;  // of its first byte, 1..
  bool padded = false;     // has blanks around it
};
// "0,,1" has three entries, the second one empty; "" has one, empty.
std::vector<MaskEntry> split_mask(std::string_view value);

// "entry 2 '-1'".
std::string to_string(const MaskEntry& entry);

struct MaskRefusal {
  MaskEntry entry;
  std::string why;  // ends the sentence that begins with the entry: "is empty", "is hexadecimal"
};

struct MaskLint {
  std::vector<MaskRefusal> refusals;  // refusals of single entries
  std::string refused_whole;        // why the value as a whole is refused although each entry is well formed
  std::vector<std::string> driver;  // what the driver would have made of a refused value, one sentence each
  std::string suggestion;           // what was probably meant, one sentence; may be empty
  std::vector<std::string> warnings;  // of an accepted value
  std::string meaning;                // what an accepted value means, one line

  bool accepted() const { return refusals.empty() && refused_whole.empty(); }
};

// Decimal ASCII digits without a leading zero, at most 2^32-1; nothing else. Never throws, knows no locale.
std::optional<unsigned> parse_ordinal(std::string_view text);

// Why `text` is no ordinal, as the end of a sentence: "is hexadecimal", "has ';1' after the number".
std::string why_not_ordinal(std::string_view text);

// The list of ordinals that was probably meant: "0;1" is "0,1", "0-2" is "0,1,2", "0x1" is "1", "1gpu" is
// "1", "0,,1" is "0,1". Empty if that cannot be told.
std::string repair_ordinals(std::string_view value);

// `text` in single quotes, with what cannot be printed made visible.
std::string in_quotes(std::string_view text);

}  // namespace proctor
