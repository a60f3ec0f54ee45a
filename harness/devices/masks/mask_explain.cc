#include "harness/devices/masks/mask_explain.h"

#include <algorithm>

#include "harness/devices/masks/mask_xpu.h"
#include "harness/devices/masks/mask_xpu_driver.h"

namespace proctor {
namespace {

void use(const MaskRule& rule, MaskExplanation& explanation) {
  auto& rules = explanation.rules;
  const auto same = [&](const MaskRule& other) { return other.text == rule.text; };
  if (std::none_of(rules.begin(), rules.end(), same)) rules.push_back(rule);
}

template <typename Row>
std::string known_text(const Row* row) {
  if (row == nullptr) return {};
  std::string text = "[" + std::string(row->evidence) + "] " + std::string(row->source);
  if (!row->note.empty()) text += " (" + std::string(row->note) + ")";
  return text;
}

// Describes the device that the first number of an entry selects under one hierarchy.
std::string names_xpu(unsigned index, bool leaves, const Topology& topology) {
  const auto count = static_cast<unsigned>(leaves ? topology.cards * topology.tiles : topology.cards);
  if (index >= count) return "no such " + std::string(leaves ? "tile" : "card") + ", skipped";
  if (!leaves) return "card " + std::to_string(index);
  const auto tiles = static_cast<unsigned>(topology.tiles);
  if (tiles == 1) return "card " + std::to_string(index);
  return "tile " + std::to_string(index % tiles) + " of card " + std::to_string(index / tiles);
}

std::string explain_whole(std::string_view text, std::optional<Hierarchy> hierarchy, const Topology& topology,
                          MaskExplanation& explanation) {
  const auto number = intel_number(text);
  if (!parse_ordinal(text)) use(xpu_rules::kNumbers, explanation);
  if (!number) return "not a number: std::stoul throws, and the process aborts";
  use(xpu_rules::kHierarchy, explanation);
  std::string meaning = parse_ordinal(text) ? "" : "read as " + std::to_string(*number) + "; ";
  const auto leaves = static_cast<unsigned>(topology.cards * topology.tiles);
  const bool composite = !hierarchy || *hierarchy == Hierarchy::kComposite;
  const bool flat = !hierarchy || *hierarchy != Hierarchy::kComposite;
  const auto count = flat ? leaves : static_cast<unsigned>(topology.cards);
  if (*number >= count || (composite && *number >= static_cast<unsigned>(topology.cards))) {
    use(xpu_rules::kSkips, explanation);
  }
  if (*number >= count) return meaning + "names no device: it is skipped, the other entries count";
  if (composite) meaning += "COMPOSITE: " + names_xpu(*number, false, topology);
  if (composite && flat) meaning += "; ";
  if (flat) meaning += "FLAT, COMBINED: " + names_xpu(*number, true, topology);
  return meaning;
}

std::string explain_tile(std::string_view text, std::optional<Hierarchy> hierarchy,
                         MaskExplanation& explanation) {
  const auto dot = text.find('.');
  std::string meaning;
  if (!hierarchy || *hierarchy == Hierarchy::kComposite) {
    use(xpu_rules::kTile, explanation);
    meaning = "COMPOSITE: tile " + std::string(text.substr(dot + 1)) + " of card " +
              std::string(text.substr(0, dot));
  }
  if (!hierarchy || *hierarchy != Hierarchy::kComposite) {
    use(xpu_rules::kTileInFlat, explanation);
    meaning += std::string(meaning.empty() ? "" : "; ") + "FLAT, COMBINED: not valid, ignored";
  }
  return meaning;
}

std::string explain_xpu_entry(const MaskEntry& entry, bool last, std::optional<Hierarchy> hierarchy,
                              const Topology& topology, MaskExplanation& explanation) {
  const std::string& text = entry.text;
  if (text.empty() && entry.padded) return explain_whole(" ", hierarchy, topology, explanation);
  if (text.empty()) {
    if (last && entry.number > 1) return "nothing: the driver drops an empty entry at the end";
    use(xpu_rules::kEmptyEntry, explanation);
    return "an empty entry: the driver indexes an empty vector and crashes";
  }
  if (text.starts_with("GPU-") || text.starts_with("MIG-")) use(xpu_rules::kOrdinalsOnly, explanation);
  const auto dot = text.find('.');
  if (dot == std::string::npos) return explain_whole(text, hierarchy, topology, explanation);
  const bool decimal = parse_ordinal(text.substr(0, dot)) && parse_ordinal(text.substr(dot + 1));
  if (decimal) return explain_tile(text, hierarchy, explanation);
  const bool dots = text.find('.', dot + 1) != std::string::npos;
  use(dots ? xpu_rules::kDots : xpu_rules::kNumbers, explanation);
  return "not N.M in decimal; the line of the driver shows the effect of the whole value";
}

void add_visible_xpu(std::string_view value, Hierarchy hierarchy, std::string under, const Topology& topology,
                     MaskExplanation& explanation) {
  const DriverAnswer answer = intel_answer(value, IntelDriver::k26_27, hierarchy, topology);
  if (answer.selects_nothing) use(xpu_rules::kNothing, explanation);
  if (is_crash(answer.fate) && !answer.selects_nothing) return;
  explanation.visible.push_back({std::move(under), to_string(answer.devices, topology)});
}

std::string explain_cuda_entry(const MaskEntry& entry, const CudaSelection& selection, const CudaHost& host) {
  const std::size_t ended = selection.ended_at.value_or(0);
  if (ended != 0 && entry.number > ended) return "hidden: entry " + std::to_string(ended) + " ended the list";
  if (entry.number == ended) return selection.ended_why + ": it and every entry after it are hidden";
  if (selection.duplicate_at) {
    if (entry.number == *selection.duplicate_at) return "names a device a second time";
    if (entry.number > *selection.duplicate_at) return "not reached";
  }
  // A single entry has the same meaning as in the list. Entries that end the list were handled above.
  const CudaSelection alone = select_cuda(entry.text, host);
  return "device " + to_string(alone.devices);
}

void use_cuda_rules(std::string_view value, const CudaSelection& selection, MaskExplanation& explanation) {
  if (value.empty()) return use(cuda_rules::kEmpty, explanation);
  use(cuda_rules::kOrder, explanation);
  if (selection.ended_at) use(cuda_rules::kEnds, explanation);
  if (selection.duplicate_at) use(cuda_rules::kDuplicate, explanation);
  bool names = false;
  bool ordinals = false;
  for (const MaskEntry& entry : split_mask(value)) {
    const bool gpu = entry.text.starts_with("GPU-");
    const bool mig = entry.text.starts_with("MIG-");
    const bool ordinal = parse_ordinal(entry.text).has_value();
    if (gpu) use(cuda_rules::kNames, explanation);
    if (mig) use(cuda_rules::kMig, explanation);
    if (!gpu && !mig && !ordinal && entry.text != "-1") use(cuda_rules::kTail, explanation);
    names = names || gpu || mig;
    ordinals = ordinals || ordinal;
  }
  if (names && ordinals) use(cuda_rules::kMixed, explanation);
  if (ordinals) use(cuda_rules::kPciOrder, explanation);
}

}  // namespace

MaskExplanation explain_xpu_mask(std::string_view value, std::optional<Hierarchy> hierarchy,
                                 const Topology& topology) {
  MaskExplanation explanation;
  if (value.empty()) {
    use(xpu_rules::kEmpty, explanation);
  } else if (value == "default") {
    use(xpu_rules::kDefaultWord, explanation);
    explanation.entries.push_back(
        {split_mask(value).front(), "the driver's own value for unset: every device"});
  } else {
    const auto entries = split_mask(value);
    for (const MaskEntry& entry : entries) {
      const bool last = entry.number == entries.size();
      explanation.entries.push_back(
          {entry, explain_xpu_entry(entry, last, hierarchy, topology, explanation)});
    }
    if (entries.size() > 1) use(xpu_rules::kSet, explanation);
  }
  if (!hierarchy || *hierarchy == Hierarchy::kComposite) {
    add_visible_xpu(value, Hierarchy::kComposite, "COMPOSITE", topology, explanation);
  }
  if (!hierarchy || *hierarchy != Hierarchy::kComposite) {
    const std::string under = hierarchy ? std::string(to_string(*hierarchy)) : "FLAT, COMBINED";
    add_visible_xpu(value, Hierarchy::kFlat, under, topology, explanation);
  }
  explanation.driver = describe_intel(value, hierarchy, topology);
  explanation.known = known_text(find_xpu_row(value));
  return explanation;
}

MaskExplanation explain_cuda_mask(std::string_view value, const CudaHost& host) {
  MaskExplanation explanation;
  const CudaSelection selection = select_cuda(value, host);
  if (!value.empty()) {
    for (const MaskEntry& entry : split_mask(value)) {
      explanation.entries.push_back({entry, explain_cuda_entry(entry, selection, host)});
    }
  }
  explanation.visible.push_back({"", to_string(selection.devices)});
  use_cuda_rules(value, selection, explanation);
  explanation.known = known_text(find_cuda_row(value));
  return explanation;
}

}  // namespace proctor
