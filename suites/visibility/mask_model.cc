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
// The result of zeInit if no device is left to enumerate (ze_api.h: "driver could not be initialized").
constexpr const char* kNothingLeft = "ZE_RESULT_ERROR_UNINITIALIZED";

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The selected positions among the tiles of each card. A card without tiles counts as one tile.
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

// Sources:
//   SPEC    Level Zero programming guide, section "Affinity Mask" (spec.oneapi.io/level-zero, core/PROG)
//           It does not specify an entry for a device or tile that does not exist. A row with severity gate
//           therefore requires that its devices and tiles exist.
//   DRIVER  intel/compute-runtime, ExecutionEnvironment::parseAffinityMask and StringHelpers::toUint32t:
//           std::stoul with base 0, cast to 32 bits; entries past the end are skipped
//   ROBUST  No document specifies a malformed value. The row expects that the driver skips it, as the driver does
//           with every other bad entry. The driver must not crash.
//
// Measured on Intel's driver 22.43.24595 (Debian 12) without hardware, 2 cards with 2 and with 4 tiles. Every
// row is as expected except:
//   11a-c              SIGSEGV in zeInit (an empty entry indexes an empty vector)
//   15a-f, 16          SIGABRT (uncaught std::invalid_argument, std::out_of_range from std::stoul)
//   26b                SIGABRT ("Abort was called at 176 line in file execution_environment.cpp")
//   22, 23             with 4 tiles only: SIGSEGV, because in this mode two or more tiles without tile 0
//                      crash

namespace {

using suite::kGate;
using suite::kWarn;

constexpr const char* kSpec = "Level Zero programming guide, Affinity Mask";
constexpr const char* kDriver = "intel/compute-runtime, execution_environment.cpp parseAffinityMask";
constexpr const char* kRobust = "project rule: A malformed entry selects no device and never crashes.";

constexpr MaskRow kRows[] = {
    {"UnsetVariableSelectsEveryDevice", nullptr, "all", "V01", kSpec, kGate,
     "visibility.wrong_subdevice_count"},
    {"EmptyValueSelectsEveryDevice", "", "all", "V02", kDriver, kWarn, "visibility.wrong_subdevice_count"},
    {"WordDefaultSelectsEveryDevice", "default", "all", "V02", kDriver, kWarn,
     "visibility.wrong_subdevice_count"},
    {"OrdinalZeroSelectsFirstDevice", "0", "0", "V03", kSpec, kGate},
    {"OrdinalOneSelectsSecondDevice", "1", "1", "V03", kSpec, kGate, "visibility.mask_off_by_one"},
    {"TwoOrdinalsSelectTwoDevices", "0,1", "0,1", "V06", kSpec, kGate, "visibility.wrong_subdevice_count"},
    {"ReversedListKeepsDeviceOrder", "1,0", "0,1", "V05", kSpec, kGate, "visibility.use_wrong_mask_order"},
    {"RepeatedOrdinalSelectsDeviceOnce", "0,0", "0", "V10", kDriver, kWarn,
     "visibility.list_repeated_device_twice"},
    {"BlanksAroundEntriesAreIgnored", " 0 , 1 ", "0,1", "V11", kDriver, kWarn,
     "visibility.wrong_subdevice_count"},
    {"BlankAfterCommaIsIgnored", "0, 1", "0,1", "V11", kSpec, kGate, "visibility.wrong_subdevice_count"},
    {"TrailingCommaIsIgnored", "0,", "0", "V12", kDriver, kWarn},
    {"TrailingDotIsIgnored", "1.", "1", "V12", kDriver, kWarn},
    {"LeadingCommaIsIgnored", ",0", "0", "V12", kRobust, kWarn},
    {"EmptyEntryIsSkipped", "0,,1", "0,1", "V12", kRobust, kWarn, "visibility.wrong_subdevice_count"},
    {"CommaAloneSelectsNothing", ",", "none", "V12", kRobust, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"MinusOneIsSkipped", "0,-1,1", "0,1", "V08", kDriver, kWarn, "visibility.end_mask_at_invalid_entry"},
    {"OutOfRangeOrdinalIsSkipped", "0,92,1", "0,92,1", "V08", kDriver, kWarn,
     "visibility.end_mask_at_invalid_entry"},
    {"MinusOneSelectsNothing", "-1", "none", "V09", kDriver, kWarn, "visibility.show_all_on_empty_selection"},
    {"MissingOrdinal100SelectsNothing", "100", "100", "V09", kDriver, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"MissingOrdinal8SelectsNothing", "8", "8", "V09", kDriver, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"MissingTileSelectsNothing", "1.9", "1.9", "V09", kDriver, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"AsteriskSelectsNothing", "*", "none", "V12", kRobust, kWarn, "visibility.show_all_on_empty_selection"},
    {"LettersSelectNothing", "abc", "none", "V12", kRobust, kWarn, "visibility.show_all_on_empty_selection"},
    {"BlankSelectsNothing", " ", "none", "V12", kRobust, kWarn, "visibility.show_all_on_empty_selection"},
    {"CudaUuidPrefixSelectsNothing", "GPU-1", "none", "V12", kRobust, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"TileWithoutCardSelectsNothing", ".0", "none", "V12", kRobust, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"LetterEntryAfterOrdinalIsSkipped", "0,abc", "0", "V12", kRobust, kWarn},
    {"OverflowingOrdinalSelectsNothing", "99999999999999999999999", "none", "V12", kRobust, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"Ordinal2To65Plus1SelectsNothing", "36893488147419103233", "none", "V12", kRobust, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"TrailingLettersAreIgnored", "1abc", "1", "V12", kDriver, kWarn},
    {"PlusSignIsIgnored", "+1", "1", "V12", kDriver, kWarn},
    {"HexadecimalOrdinalSelectsDevice", "0x1", "1", "V12", kDriver, kWarn},
    {"RangeSelectsOnlyFirstOrdinal", "0-1", "0", "V12", kDriver, kWarn},
    {"TextAfterSemicolonIsIgnored", "0;1", "0", "V12", kDriver, kWarn},
    {"LowercaseHexWrapsTo32Bits", "0xabcdef00000001", "1", "V12", kDriver, kWarn},
    {"UppercaseHexWrapsTo32Bits", "0XABCDEF00000001", "1", "V12", kDriver, kWarn},
    {"NegativeLowercaseHexWrapsTo32Bits", "-0xffffffff", "1", "V12", kDriver, kWarn},
    {"NegativeUppercaseHexWrapsTo32Bits", "-0xFFFFFFFF", "1", "V12", kDriver, kWarn},
    {"HexPrefixWithoutDigitsIsZero", "0xg", "0", "V12", kDriver, kWarn},
    {"LeadingZeroMeansOctal", "010", "8", "V12", kDriver, kWarn, "visibility.show_all_on_empty_selection"},
    {"OctalOrdinalWrapsTo32Bits", "040000000001", "1", "V12", kDriver, kWarn},
    {"InvalidOctalDigitEndsNumber", "08", "0", "V12", kDriver, kWarn},
    {"DecimalOrdinalWrapsTo32Bits", "4294967297", "1", "V12", kDriver, kWarn},
    {"NegativeDecimalWrapsTo32Bits", "-4294967295", "1", "V12", kDriver, kWarn},
    {"TileEntrySelectsSingleTile", "0.0", "0.0", "V38", kSpec, kGate, "visibility.tile_mask_ignored"},
    {"EntriesSelectTileOnEachCard", "0.0,1.0", "0.0,1.0", "V38", kSpec, kGate,
     "visibility.tile_mask_ignored"},
    {"EntriesSelectTwoTilesOfCard", "1.1,1.2", "1.1,1.2", "V38", kDriver, kWarn,
     "visibility.tile_mask_ignored"},
    {"ShuffledTileEntriesKeepTileOrder", "0.2,1.3,1.0,0.3", "0.2,0.3,1.0,1.3", "V38", kDriver, kWarn,
     "visibility.tile_mask_ignored"},
    {"RepeatedTileIsSelectedOnce", "0.1,0.1", "0.1", "V10", kDriver, kWarn,
     "visibility.list_repeated_device_twice"},
    {"CardEntryOverridesTileEntry", "0.0,0", "0", "V10", kDriver, kWarn},
    {"TileOfMissingCardIsSkipped", "2.0,1", "2.0,1", "V08", kDriver, kWarn},
    {"MissingTileEntryIsSkipped", "0,1.54", "0,1.54", "V08", kDriver, kWarn},
    {"ThreeLevelEntrySelectsNothing", "0.0.0", "none", "V12", kDriver, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"FourLevelEntrySelectsNothing", "0.0.0.0", "none", "V12", kRobust, kWarn,
     "visibility.show_all_on_empty_selection"},
    {"OrdinalsSelectDevices0And4", "0,4", "0,4", "V06", kSpec, kGate},
    {"OrdinalsSelectDevices1And2And7", "1,2,7", "1,2,7", "V06", kSpec, kGate},
    {"OrdinalsSelectEightDevices", "0,1,2,3,4,5,6,7", "0,1,2,3,4,5,6,7", "V06", kSpec, kGate,
     "visibility.wrong_subdevice_count"},
    {"ReversedListSelectsFiveDevices", "4,3,2,1,0", "0,1,2,3,4", "V06", kSpec, kGate,
     "visibility.truncate_long_mask"},
    {"EntriesSelectThreeTiles", "0.0,0.1,1.1", "0.0,0.1,1.1", "V38", kDriver, kWarn,
     "visibility.tile_mask_ignored"},
    {"ShuffledEntriesSelectThreeTiles", "1.1,0.1,1.0", "0.1,1.0,1.1", "V38", kDriver, kWarn,
     "visibility.tile_mask_ignored"},
    {"ReversedEntriesSelectFourTiles", "1.1,1.0,0.1,0.0", "0.0,0.1,1.0,1.1", "V38", kDriver, kWarn,
     "visibility.wrong_subdevice_count"},
    {"ReversedEntriesSelectFiveTiles", "2.0,1.1,1.0,0.1,0.0", "0.0,0.1,1.0,1.1,2.0", "V38", kDriver, kWarn,
     "visibility.truncate_long_mask"},
    {"ValidEntriesAfterInvalidAreSelected", "9.9,8.1,1.0,0.1", "0.1,1.0", "V08", kDriver, kWarn,
     "visibility.end_mask_at_invalid_entry"},
};

}  // namespace

std::span<const MaskRow> mask_rows() { return kRows; }

}  // namespace proctor::visibility
