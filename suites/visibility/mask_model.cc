#include "suites/visibility/mask_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <numeric>
#include <set>

namespace proctor::visibility {
namespace {

using Tiles = std::vector<std::vector<std::uint32_t>>;

constexpr const char* kSuccess = "ZE_RESULT_SUCCESS";
// What zeInit answers when nothing is left to enumerate (ze_api.h: "driver could not be initialized").
constexpr const char* kNothingLeft = "ZE_RESULT_ERROR_UNINITIALIZED";

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Chosen positions among the tiles of each card. A card without tiles counts as one.
std::vector<std::set<std::size_t>> choose(std::string_view selection, const Tiles& tiles) {
  std::vector<std::set<std::size_t>> chosen(tiles.size());
  const auto whole = [&](std::size_t card) {
    for (std::size_t tile = 0; tile < std::max<std::size_t>(1, tiles[card].size()); ++tile) {
      chosen[card].insert(tile);
    }
  };
  if (selection == "all") {
    for (std::size_t card = 0; card < tiles.size(); ++card) whole(card);
  }
  if (selection == "all" || selection == "none") return chosen;
  while (!selection.empty()) {
    const auto entry = selection.substr(0, selection.find(','));
    selection.remove_prefix(std::min(entry.size() + 1, selection.size()));
    const auto dot = entry.find('.');
    const std::size_t card = number(entry.substr(0, dot));
    if (card >= tiles.size()) continue;
    if (dot == std::string_view::npos) {
      whole(card);
    } else if (const auto tile = number(entry.substr(dot + 1));
               tile < std::max<std::size_t>(1, tiles[card].size())) {
      chosen[card].insert(tile);
    }
  }
  return chosen;
}

std::string device_text(const std::string& id, const std::vector<std::uint32_t>& sub_ids) {
  return fmt::format("{}:[{}]", id.empty() ? "card" : id, fmt::join(sub_ids, " "));
}

}  // namespace

std::vector<ExpectedDevice> select_devices(std::string_view selection, const Tiles& tiles) {
  const auto chosen = choose(selection, tiles);
  std::vector<ExpectedDevice> devices;
  for (std::size_t card = 0; card < tiles.size(); ++card) {
    if (chosen[card].empty()) continue;
    ExpectedDevice device{card, {}};
    if (chosen[card].size() > 1) {
      for (const std::size_t tile : chosen[card]) device.sub_ids.push_back(tiles[card][tile]);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

std::string expected_text(const std::vector<ExpectedDevice>& expected, const Enumeration& control,
                          IdentityKind kind) {
  std::string text = expected.empty() ? kNothingLeft : kSuccess;
  for (const auto& device : expected) {
    text += " " + device_text(identity(control.devices.at(device.card), kind), device.sub_ids);
  }
  return text;
}

std::string seen_text(const Enumeration& seen, IdentityKind kind) {
  std::string text = seen.init;
  for (const auto& device : seen.devices) text += " " + device_text(identity(device, kind), device.sub_ids);
  return text;
}

std::optional<Tiles> tiles_of_topology(const char* topology) {
  int cards = 0;
  int tiles = 0;
  int length = 0;
  const bool read = std::sscanf(topology, "xpu:%dx%d%n", &cards, &tiles, &length) == 2;
  const bool ends = read && (topology[length] == '\0' || topology[length] == ',');
  if (!ends || cards < 0 || tiles < 0) return std::nullopt;
  std::vector<std::uint32_t> ids(tiles > 1 ? static_cast<std::size_t>(tiles) : 0);
  std::iota(ids.begin(), ids.end(), 0U);
  return Tiles(static_cast<std::size_t>(cards), ids);
}

Tiles tiles_of(const Enumeration& control) {
  Tiles tiles;
  for (const auto& device : control.devices) tiles.push_back(device.sub_ids);
  return tiles;
}

}  // namespace proctor::visibility
