#include "harness/devices/masks/mask_xpu_driver.h"

#include <cstdint>
#include <limits>
#include <utility>

namespace proctor {

std::string to_string(const std::vector<XpuDevice>& devices, const Topology& topology) {
  if (devices.empty()) return "nothing";
  std::string text;
  for (const XpuDevice& device : devices) {
    if (!text.empty()) text += ' ';
    text += std::to_string(device.card);
    if (device.tiles.size() == static_cast<std::size_t>(topology.tiles)) continue;
    std::string tiles;
    for (const int tile : device.tiles) tiles += (tiles.empty() ? "" : ",") + std::to_string(tile);
    text += device.tiles.size() == 1 ? "." + tiles : ".{" + tiles + "}";
  }
  return text;
}

namespace {

// Like the driver's split(): drops an empty piece at the end and keeps any other; "" has no pieces.
std::vector<std::string_view> intel_split(std::string_view input, char delimiter) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  while (begin < input.size()) {
    const std::size_t end = std::min(input.find(delimiter, begin), input.size());
    pieces.push_back(input.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::numeric_limits<int>::max();
}

// The tiles of each card that the entries enabled so far.
class Enabled {
 public:
  explicit Enabled(const Topology& topology)
      : topology_(topology), tiles_(static_cast<std::size_t>(topology.cards * topology.tiles), false) {}

  void tile(unsigned card, unsigned tile) {
    tiles_[card * static_cast<unsigned>(topology_.tiles) + tile] = true;
  }
  void leaf(unsigned leaf) { tiles_[leaf] = true; }
  void whole_card(unsigned card) {
    for (unsigned t = 0; t < static_cast<unsigned>(topology_.tiles); ++t) tile(card, t);
  }

  std::vector<XpuDevice> devices(bool cards_are_devices) const {
    std::vector<XpuDevice> result;
    for (int card = 0; card < topology_.cards; ++card) {
      XpuDevice device{card, {}};
      for (int tile = 0; tile < topology_.tiles; ++tile) {
        if (!tiles_[static_cast<std::size_t>(card) * static_cast<std::size_t>(topology_.tiles) +
                    static_cast<std::size_t>(tile)])
          continue;
        device.tiles.push_back(tile);
        if (!cards_are_devices) result.push_back({card, {tile}});
      }
      if (cards_are_devices && !device.tiles.empty()) result.push_back(std::move(device));
    }
    return result;
  }

 private:
  Topology topology_;
  std::vector<bool> tiles_;
};

// Reads one entry under COMPOSITE whose first number is an existing card. A third number is an engine. 22.43
// parses it, and selects nothing if the card has no such engine, as in the driver's no-hardware mode.
std::optional<DriverFate> read_card_entry(const std::vector<std::string_view>& parts, unsigned card,
                                          IntelDriver driver, const Topology& topology, Enabled& enabled) {
  if (parts.size() == 1) {
    enabled.whole_card(card);
    return std::nullopt;
  }
  const auto tile = intel_number(parts[1]);
  if (!tile) return DriverFate::kAbort;
  if (*tile >= static_cast<unsigned>(topology.tiles)) return std::nullopt;
  if (parts.size() == 2) {
    enabled.tile(card, *tile);
  } else if (parts.size() > 3 || (driver == IntelDriver::k22_43 && !intel_number(parts[2]))) {
    return DriverFate::kAbort;
  }
  return std::nullopt;
}

// Returns nullopt if the driver reads the mask to its end.
std::optional<DriverFate> read_mask(std::string_view value, IntelDriver driver, bool cards_are_devices,
                                    const Topology& topology, Enabled& enabled) {
  const unsigned count =
      static_cast<unsigned>(cards_are_devices ? topology.cards : topology.cards * topology.tiles);
  for (const std::string_view entry : intel_split(value, ',')) {
    const auto parts = intel_split(entry, '.');
    // the driver accesses the first element of the empty vector
    if (parts.empty()) return DriverFate::kSegfault;
    const auto index = intel_number(parts[0]);
    if (!index) return DriverFate::kAbort;
    if (*index >= count) continue;
    if (!cards_are_devices) {
      if (parts.size() == 1) enabled.leaf(*index);
      continue;
    }
    if (const auto fate = read_card_entry(parts, *index, driver, topology, enabled)) return fate;
  }
  return std::nullopt;
}

std::string describe(const DriverAnswer& answer, const Topology& topology) {
  switch (answer.fate) {
    case DriverFate::kSelects:
      return "selects " + to_string(answer.devices, topology);
    case DriverFate::kUninitialized:
      return "selects nothing, zeInit fails with 0x78000001";
    case DriverFate::kSegfault:
      return answer.selects_nothing ? "selects nothing, which is a segmentation fault in zeInit"
                                    : "segmentation fault in zeInit: it indexes an empty vector";
    case DriverFate::kAbort:
      return "abort in zeInit";
  }
  return "";
}

// Adds a line for each number that the driver reads in an unusual way.
void describe_entries(std::string_view value, std::vector<std::string>& lines) {
  for (const MaskEntry& entry : split_mask(value)) {
    for (const std::string_view part : intel_split(entry.text, '.')) {
      if (parse_ordinal(part)) continue;
      const auto number = intel_number(part);
      lines.push_back(number ? in_quotes(part) + " is read as " + std::to_string(*number)
                             : "std::stoul throws on " + in_quotes(part) +
                                   " and the driver does not catch the exception");
    }
  }
}

}  // namespace

std::string_view to_string(IntelDriver driver) { return driver == IntelDriver::k22_43 ? "22.43" : "26.27"; }

std::string_view to_string(DriverFate fate) {
  switch (fate) {
    case DriverFate::kSelects:
      return "selects";
    case DriverFate::kUninitialized:
      return "uninitialized";
    case DriverFate::kSegfault:
      return "segfault";
    case DriverFate::kAbort:
      return "abort";
  }
  return "";
}

// Does not call strtoul(), which also reads "0b1" as binary since glibc 2.38. The result would then depend on
// the build machine of Proctor.
std::optional<unsigned> intel_number(std::string_view text) {
  std::size_t at = std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size());
  const bool negative = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  std::string_view rest = text.substr(at);

  int base = 10;
  if (rest.starts_with('0')) {
    const bool hex = rest.size() > 2 && (rest[1] == 'x' || rest[1] == 'X') && digit_value(rest[2]) < 16;
    base = hex ? 16 : 8;
    if (hex) rest.remove_prefix(2);
  }
  std::uint64_t value = 0;
  std::size_t digits = 0;
  for (; digits < rest.size() && digit_value(rest[digits]) < base; ++digits) {
    const auto digit = static_cast<std::uint64_t>(digit_value(rest[digits]));
    const auto wide_base = static_cast<std::uint64_t>(base);
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / wide_base) return std::nullopt;
    value = value * wide_base + digit;
  }
  if (digits == 0) return std::nullopt;
  return static_cast<unsigned>(negative ? 0 - value : value);
}

DriverAnswer intel_answer(std::optional<std::string_view> value, IntelDriver driver, Hierarchy hierarchy,
                          const Topology& topology) {
  const bool cards_are_devices = driver == IntelDriver::k22_43 || hierarchy == Hierarchy::kComposite;
  Enabled enabled(topology);
  if (!value || value->empty() || *value == "default") {
    for (int card = 0; card < topology.cards; ++card) enabled.whole_card(static_cast<unsigned>(card));
  } else if (const auto fate = read_mask(*value, driver, cards_are_devices, topology, enabled)) {
    return {*fate, {}, false};
  }
  auto devices = enabled.devices(cards_are_devices);
  if (!devices.empty()) return {DriverFate::kSelects, std::move(devices), false};
  return {driver == IntelDriver::k22_43 ? DriverFate::kUninitialized : DriverFate::kSegfault, {}, true};
}

std::vector<std::string> describe_intel(std::string_view value, std::optional<Hierarchy> hierarchy,
                                        const Topology& topology) {
  std::vector<std::string> lines;
  if (!value.empty() && value != "default") describe_entries(value, lines);

  std::vector<std::pair<std::string, std::string>> answers;  // version and hierarchy, behaviour
  const auto add = [&](std::string who, IntelDriver driver, Hierarchy under) {
    std::string what = describe(intel_answer(value, driver, under, topology), topology);
    if (!answers.empty() && answers.back().second == what) {
      answers.back().first += ", " + who;
    } else {
      answers.emplace_back(std::move(who), std::move(what));
    }
  };
  add("22.43", IntelDriver::k22_43, Hierarchy::kComposite);
  if (!hierarchy || *hierarchy == Hierarchy::kComposite) {
    add("26.27 COMPOSITE", IntelDriver::k26_27, Hierarchy::kComposite);
  }
  if (!hierarchy || *hierarchy != Hierarchy::kComposite) {
    add("26.27 " + std::string(to_string(hierarchy.value_or(Hierarchy::kFlat))), IntelDriver::k26_27,
        Hierarchy::kFlat);
  }
  for (const auto& [who, what] : answers) lines.push_back(who + " on " + to_string(topology) + ": " + what);
  return lines;
}

}  // namespace proctor
