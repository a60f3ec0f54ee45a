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

// Sources:
//   SPEC    Level Zero programming guide, section "Affinity Mask" (spec.oneapi.io/level-zero, core/PROG)
//           What a device or tile that is not there selects it does not say: a gate of such a row needs them.
//   DRIVER  intel/compute-runtime, ExecutionEnvironment::parseAffinityMask and StringHelpers::toUint32t:
//           std::stoul with base 0, cast to 32 bits; entries past the end are skipped
//   ROBUST  no document says what a malformed value selects. The row expects what the driver does with
//           every other bad entry, which is to skip it; above all it expects no crash.
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
    {"1_unset", nullptr, "all", "V01", kSpec, kGate, "visibility.wrong_subdevice_count"},
    {"2_empty", "", "all", "V02", kDriver, kWarn, "visibility.wrong_subdevice_count"},
    {"3_default", "default", "all", "V02", kDriver, kWarn, "visibility.wrong_subdevice_count"},
    {"4_first", "0", "0", "V03", kSpec, kGate},
    {"5_second", "1", "1", "V03", kSpec, kGate, "visibility.mask_off_by_one"},
    {"6_both", "0,1", "0,1", "V06", kSpec, kGate, "visibility.wrong_subdevice_count"},
    {"7_reversed", "1,0", "0,1", "V05", kSpec, kGate, "visibility.mask_order_lost"},
    {"8_twice", "0,0", "0", "V10", kDriver, kWarn, "visibility.repeated_entry_twice"},
    {"9a_blanks_around", " 0 , 1 ", "0,1", "V11", kDriver, kWarn, "visibility.wrong_subdevice_count"},
    {"9b_blank_after_comma", "0, 1", "0,1", "V11", kSpec, kGate, "visibility.wrong_subdevice_count"},
    {"10_trailing_comma", "0,", "0", "V12", kDriver, kWarn},
    {"10b_trailing_point", "1.", "1", "V12", kDriver, kWarn},
    {"11a_leading_comma", ",0", "0", "V12", kRobust, kWarn},
    {"11b_empty_entry", "0,,1", "0,1", "V12", kRobust, kWarn, "visibility.wrong_subdevice_count"},
    {"11c_comma_only", ",", "none", "V12", kRobust, kWarn, "visibility.nothing_means_all"},
    {"12_minus_one_between", "0,-1,1", "0,1", "V08", kDriver, kWarn, "visibility.mask_ends_early"},
    {"13_out_of_range_between", "0,92,1", "0,92,1", "V08", kDriver, kWarn, "visibility.mask_ends_early"},
    {"14a_minus_one", "-1", "none", "V09", kDriver, kWarn, "visibility.nothing_means_all"},
    {"14b_hundred", "100", "100", "V09", kDriver, kWarn, "visibility.nothing_means_all"},
    {"14c_eight", "8", "8", "V09", kDriver, kWarn, "visibility.nothing_means_all"},
    {"14d_tile_out_of_range", "1.9", "1.9", "V09", kDriver, kWarn, "visibility.nothing_means_all"},
    {"15a_star", "*", "none", "V12", kRobust, kWarn, "visibility.nothing_means_all"},
    {"15b_letters", "abc", "none", "V12", kRobust, kWarn, "visibility.nothing_means_all"},
    {"15c_blank", " ", "none", "V12", kRobust, kWarn, "visibility.nothing_means_all"},
    {"15d_cuda_name", "GPU-1", "none", "V12", kRobust, kWarn, "visibility.nothing_means_all"},
    {"15e_tile_without_card", ".0", "none", "V12", kRobust, kWarn, "visibility.nothing_means_all"},
    {"15f_letters_after_first", "0,abc", "0", "V12", kRobust, kWarn},
    {"16_huge", "99999999999999999999999", "none", "V12", kRobust, kWarn, "visibility.nothing_means_all"},
    {"16b_2_to_the_65_and_1", "36893488147419103233", "none", "V12", kRobust, kWarn,
     "visibility.nothing_means_all"},
    {"17a_letters_behind", "1abc", "1", "V12", kDriver, kWarn},
    {"17b_plus", "+1", "1", "V12", kDriver, kWarn},
    {"17c_hexadecimal", "0x1", "1", "V12", kDriver, kWarn},
    {"17d_range", "0-1", "0", "V12", kDriver, kWarn},
    {"17e_semicolon", "0;1", "0", "V12", kDriver, kWarn},
    {"17f_every_small_letter", "0xabcdef00000001", "1", "V12", kDriver, kWarn},
    {"17g_every_capital", "0XABCDEF00000001", "1", "V12", kDriver, kWarn},
    {"17h_negative_small_letters", "-0xffffffff", "1", "V12", kDriver, kWarn},
    {"17i_negative_capitals", "-0xFFFFFFFF", "1", "V12", kDriver, kWarn},
    {"17j_no_hexadecimal_digit", "0xg", "0", "V12", kDriver, kWarn},
    {"18_octal", "010", "8", "V12", kDriver, kWarn, "visibility.nothing_means_all"},
    {"18b_octal_that_wraps", "040000000001", "1", "V12", kDriver, kWarn},
    {"18c_no_octal_digit", "08", "0", "V12", kDriver, kWarn},
    {"19_wraps_to_one", "4294967297", "1", "V12", kDriver, kWarn},
    {"19b_negative_that_wraps", "-4294967295", "1", "V12", kDriver, kWarn},
    {"20_one_tile", "0.0", "0.0", "V38", kSpec, kGate, "visibility.tile_mask_ignored"},
    {"21_one_tile_each", "0.0,1.0", "0.0,1.0", "V38", kSpec, kGate, "visibility.tile_mask_ignored"},
    {"22_two_tiles", "1.1,1.2", "1.1,1.2", "V38", kDriver, kWarn, "visibility.tile_mask_ignored"},
    {"23_tiles_shuffled", "0.2,1.3,1.0,0.3", "0.2,0.3,1.0,1.3", "V38", kDriver, kWarn,
     "visibility.tile_mask_ignored"},
    {"24a_tile_twice", "0.1,0.1", "0.1", "V10", kDriver, kWarn, "visibility.repeated_entry_twice"},
    {"24b_tile_and_its_card", "0.0,0", "0", "V10", kDriver, kWarn},
    {"24c_first_bad_card_and_tile", "2.0,1", "2.0,1", "V08", kDriver, kWarn},
    {"25_card_and_bad_tile", "0,1.54", "0,1.54", "V08", kDriver, kWarn},
    {"26a_three_levels", "0.0.0", "none", "V12", kDriver, kWarn, "visibility.nothing_means_all"},
    {"26b_four_levels", "0.0.0.0", "none", "V12", kRobust, kWarn, "visibility.nothing_means_all"},
    {"27_first_and_fifth", "0,4", "0,4", "V06", kSpec, kGate},
    {"28_one_two_seven", "1,2,7", "1,2,7", "V06", kSpec, kGate},
    {"29_eight", "0,1,2,3,4,5,6,7", "0,1,2,3,4,5,6,7", "V06", kSpec, kGate,
     "visibility.wrong_subdevice_count"},
    {"29b_five_from_the_last", "4,3,2,1,0", "0,1,2,3,4", "V06", kSpec, kGate, "visibility.mask_cut"},
    {"30a_three_tiles", "0.0,0.1,1.1", "0.0,0.1,1.1", "V38", kDriver, kWarn, "visibility.tile_mask_ignored"},
    {"30b_three_tiles_shuffled", "1.1,0.1,1.0", "0.1,1.0,1.1", "V38", kDriver, kWarn,
     "visibility.tile_mask_ignored"},
    {"30c_all_four_tiles", "1.1,1.0,0.1,0.0", "0.0,0.1,1.0,1.1", "V38", kDriver, kWarn,
     "visibility.wrong_subdevice_count"},
    {"30e_five_tiles", "2.0,1.1,1.0,0.1,0.0", "0.0,0.1,1.0,1.1,2.0", "V38", kDriver, kWarn,
     "visibility.mask_cut"},
    {"30d_valid_behind_invalid", "9.9,8.1,1.0,0.1", "0.1,1.0", "V08", kDriver, kWarn,
     "visibility.mask_ends_early"},
};

}  // namespace

std::span<const MaskRow> mask_rows() { return kRows; }

}  // namespace proctor::visibility
