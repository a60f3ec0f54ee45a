#include "harness/devices/masks/mask_xpu.h"

#include <set>
#include <utility>

#include "harness/devices/masks/mask_xpu_driver.h"

namespace proctor {
namespace {

// The machine for the description of the driver's behaviour if the caller names none.
constexpr Topology kExampleTopology{2, 4};

// Returns why one entry is outside the grammar, or "".
std::string why_refused_by_xpu(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) {
    if (text.starts_with("GPU-") || text.starts_with("MIG-"))
      return "is a CUDA name; Level Zero takes ordinals only";
    return parse_ordinal(text) ? std::string() : why_not_ordinal(text);
  }
  if (text.find('.', dot + 1) != std::string_view::npos)
    return "has more than one dot; N.M is tile M of card N";
  const std::string_view halves[] = {text.substr(0, dot), text.substr(dot + 1)};
  for (const std::string_view half : halves) {
    if (half.empty())
      return half.data() == halves[0].data() ? "has no card before the dot" : "has no tile after the dot";
    if (!parse_ordinal(half)) return "has a part " + in_quotes(half) + " that " + why_not_ordinal(half);
  }
  return {};
}

XpuMaskEntry read_entry(std::string_view text) {
  const auto dot = text.find('.');
  XpuMaskEntry entry{*parse_ordinal(text.substr(0, dot)), std::nullopt};
  if (dot != std::string_view::npos) entry.tile = parse_ordinal(text.substr(dot + 1));
  return entry;
}

std::string suggest_for_xpu(std::string_view value) {
  const std::vector<std::string_view> all = {"*", "all", "any", "default"};
  for (const std::string_view word : all) {
    if (value == word) return "For all devices leave ZE_AFFINITY_MASK unset, or set it to ''.";
  }
  if (value == "-1" || value == "none" || value == "void") {
    return "No mask hides Intel's devices safely; ZE_ENABLE_ALT_DRIVERS naming a file that does not exist "
           "does.";
  }
  if (value.find("GPU-") != std::string_view::npos || value.find("MIG-") != std::string_view::npos) {
    return "`proctor devices` lists the devices with their ordinals.";
  }
  const std::string repaired = repair_ordinals(value);
  return repaired.empty() ? std::string() : "Did you mean '" + repaired + "'?";
}

bool names_a_device(const XpuMaskEntry& entry, Hierarchy hierarchy, const Topology& topology) {
  return !select_xpu({false, {entry}}, hierarchy, topology).empty();
}

std::vector<Hierarchy> hierarchies_to_judge(std::optional<Hierarchy> hierarchy) {
  if (hierarchy) return {*hierarchy};
  return {Hierarchy::kComposite, Hierarchy::kFlat};
}

// Returns why a well-formed mask selects no device on this machine, or "".
std::string why_selects_nothing(const XpuMask& mask, std::optional<Hierarchy> hierarchy,
                                const std::optional<Topology>& topology) {
  if (mask.all) return {};
  for (const Hierarchy under : hierarchies_to_judge(hierarchy)) {
    if (topology && select_xpu(mask, under, *topology).empty()) {
      std::string why =
          "selects nothing under " + std::string(to_string(under)) + " on " + to_string(*topology);
      if (!hierarchy) why += " (the default hierarchy depends on the product; --hierarchy names one)";
      return why;
    }
  }
  if (topology || !hierarchy || *hierarchy == Hierarchy::kComposite) return {};
  for (const XpuMaskEntry& entry : mask.entries) {
    if (!entry.tile) return {};
  }
  return "selects nothing under " + std::string(to_string(*hierarchy)) + ", where N.M names no device";
}

void warn_about_entries(std::string_view value, const XpuMask& mask, std::optional<Hierarchy> hierarchy,
                        const std::optional<Topology>& topology, std::vector<std::string>& warnings) {
  const auto entries = split_mask(value);
  std::set<std::pair<unsigned, int>> seen;
  std::pair<unsigned, int> last{0, -1};
  bool ordered = true;
  for (std::size_t i = 0; i < mask.entries.size(); ++i) {
    const XpuMaskEntry& entry = mask.entries[i];
    const std::pair<unsigned, int> key{entry.card, entry.tile ? static_cast<int>(*entry.tile) : -1};
    if (!seen.insert(key).second) warnings.push_back(to_string(entries[i]) + " is repeated: it counts once");
    ordered = ordered && !(key < last);
    last = key;
    for (const Hierarchy under : hierarchies_to_judge(hierarchy)) {
      const bool leaves = under != Hierarchy::kComposite;
      if (entry.tile && leaves) {
        warnings.push_back(to_string(entries[i]) + " is ignored under " + std::string(to_string(under)) +
                           ", where every device is a tile already");
      } else if (topology && !names_a_device(entry, under, *topology)) {
        warnings.push_back(to_string(entries[i]) + " names no device under " + std::string(to_string(under)) +
                           " on " + to_string(*topology) + ": it is skipped");
      }
    }
  }
  if (!ordered) warnings.emplace_back("the order of the entries does not order the devices: a mask is a set");
}

std::string meaning_of(const XpuMask& mask, std::optional<Hierarchy> hierarchy,
                       const std::optional<Topology>& topology) {
  const std::string all = "means all: an empty ZE_AFFINITY_MASK is the same as none";
  if (!topology)
    return mask.all ? all : "well formed; which devices it names depends on the machine (--topology RxT)";
  std::string meaning = mask.all ? all : "";
  for (const Hierarchy under : hierarchies_to_judge(hierarchy)) {
    if (!meaning.empty()) meaning += "; ";
    meaning +=
        std::string(to_string(under)) + ": " + to_string(select_xpu(mask, under, *topology), *topology);
  }
  return meaning;
}

}  // namespace

Result<XpuMask> parse_xpu_mask(std::string_view value) {
  XpuMask mask;
  mask.all = value.empty();
  if (mask.all) return mask;
  for (const MaskEntry& entry : split_mask(value)) {
    if (const std::string why = why_refused_by_xpu(entry.text); !why.empty()) {
      return Error::refused("ZE_AFFINITY_MASK " + in_quotes(value) + " is not valid: " + to_string(entry) +
                                " at column " + std::to_string(entry.column) + " " + why,
                            suggest_for_xpu(value));
    }
    mask.entries.push_back(read_entry(entry.text));
  }
  return mask;
}

std::vector<XpuDevice> select_xpu(const XpuMask& mask, Hierarchy hierarchy, const Topology& topology) {
  const bool leaves = hierarchy != Hierarchy::kComposite;
  std::vector<XpuDevice> devices;
  for (int card = 0; card < topology.cards; ++card) {
    XpuDevice device{card, {}};
    for (int tile = 0; tile < topology.tiles; ++tile) {
      const auto is_named_by = [&](const XpuMaskEntry& entry) {
        if (leaves) return !entry.tile && entry.card == static_cast<unsigned>(card * topology.tiles + tile);
        return entry.card == static_cast<unsigned>(card) &&
               (!entry.tile || *entry.tile == static_cast<unsigned>(tile));
      };
      bool named = mask.all;
      for (const XpuMaskEntry& entry : mask.entries) named = named || is_named_by(entry);
      if (!named) continue;
      device.tiles.push_back(tile);
      if (leaves) devices.push_back({card, {tile}});
    }
    if (!leaves && !device.tiles.empty()) devices.push_back(std::move(device));
  }
  return devices;
}

MaskLint lint_xpu_mask(std::string_view value, std::optional<Hierarchy> hierarchy,
                       std::optional<Topology> topology) {
  MaskLint lint;
  if (!value.empty()) {
    for (const MaskEntry& entry : split_mask(value)) {
      if (auto why = why_refused_by_xpu(entry.text); !why.empty())
        lint.refusals.push_back({entry, std::move(why)});
    }
  }
  const auto mask = parse_xpu_mask(value);
  if (mask) lint.refused_whole = why_selects_nothing(*mask, hierarchy, topology);
  if (!lint.accepted()) {
    lint.driver = describe_intel(value, hierarchy, topology.value_or(kExampleTopology));
    lint.suggestion = lint.refusals.empty() ? std::string() : suggest_for_xpu(value);
    return lint;
  }
  warn_about_entries(value, *mask, hierarchy, topology, lint.warnings);
  lint.meaning = meaning_of(*mask, hierarchy, topology);
  return lint;
}

}  // namespace proctor
