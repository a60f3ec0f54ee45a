// Tests every mask of up to four entries from a small alphabet. The oracles use the meaning of each entry and
// never parse its text, so they share no code with the tested functions.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/devices/masks/mask_cuda.h"
#include "harness/devices/masks/mask_xpu.h"
#include "harness/devices/masks/mask_xpu_driver.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxEntries = 4;

// Calls `check` with every sequence of 1 to kMaxEntries indices below `alphabet`.
void for_each_sequence(std::size_t alphabet,
                       const std::function<void(const std::vector<std::size_t>&)>& check) {
  std::vector<std::size_t> sequence;
  const std::function<void()> extend = [&] {
    if (!sequence.empty()) check(sequence);
    if (sequence.size() == kMaxEntries) return;
    for (std::size_t i = 0; i < alphabet; ++i) {
      sequence.push_back(i);
      extend();
      sequence.pop_back();
    }
  };
  extend();
}

template <typename Letter>
std::string spell(const std::vector<Letter>& alphabet, const std::vector<std::size_t>& sequence) {
  std::string value;
  for (std::size_t at = 0; at < sequence.size(); ++at)
    value += (at == 0 ? "" : ",") + alphabet[sequence[at]].text;
  return value;
}

// ---- Level Zero ----

struct XpuLetter {
  std::string text;
  bool well_formed;
  long long index;  // of the card or leaf; -1: parsing this entry crashes the process
  int tile = -1;    // -1: the whole card; -2: parsing this entry crashes the process if the card exists
};

const std::vector<XpuLetter> kXpuAlphabet = {
    {"0", true, 0},      {"1", true, 1},      {"3", true, 3},      {" 2", true, 2},
    {"0.0", true, 0, 0}, {"1.1", true, 1, 1}, {"0.1", true, 0, 1}, {"-1", false, 4294967295},
    {"0x1", false, 1},   {"010", false, 8},   {"x", false, -1},    {"1.x", false, 1, -2},
};

struct OracleAnswer {
  bool aborts = false;
  std::map<int, std::set<int>> tiles;  // card -> tiles
};

OracleAnswer xpu_oracle(const std::vector<std::size_t>& sequence, bool composite, const Topology& topology) {
  OracleAnswer answer;
  for (const std::size_t i : sequence) {
    const XpuLetter& letter = kXpuAlphabet[i];
    if (letter.index < 0) return {true, {}};
    for (int card = 0; card < topology.cards; ++card) {
      for (int tile = 0; tile < topology.tiles; ++tile) {
        if (composite) {
          if (letter.index != card) continue;
          if (letter.tile == -2) return {true, {}};
          if (letter.tile == -1 || letter.tile == tile) answer.tiles[card].insert(tile);
        } else if (letter.tile == -1 && letter.index == card * topology.tiles + tile) {
          answer.tiles[card].insert(tile);
        }
      }
    }
  }
  return answer;
}

std::vector<XpuDevice> oracle_devices(const OracleAnswer& answer, bool composite) {
  std::vector<XpuDevice> devices;
  for (const auto& [card, tiles] : answer.tiles) {
    if (composite) devices.push_back({card, {tiles.begin(), tiles.end()}});
    for (const int tile : tiles) {
      if (!composite) devices.push_back({card, {tile}});
    }
  }
  return devices;
}

class XpuProperty : public testing::TestWithParam<Topology> {};

TEST_P(XpuProperty, AcceptedMasksMatchOracleAndNeverCrash) {
  const Topology topology = GetParam();
  std::size_t accepted = 0;
  std::size_t crashed = 0;
  for_each_sequence(kXpuAlphabet.size(), [&](const std::vector<std::size_t>& sequence) {
    const std::string value = spell(kXpuAlphabet, sequence);
    const auto mask = parse_xpu_mask(value);
    bool well_formed = true;
    for (const std::size_t i : sequence) well_formed = well_formed && kXpuAlphabet[i].well_formed;
    ASSERT_EQ(mask.ok(), well_formed) << value;

    for (const Hierarchy hierarchy : kAllHierarchies) {
      const bool composite = hierarchy == Hierarchy::kComposite;
      const OracleAnswer oracle = xpu_oracle(sequence, composite, topology);
      const auto expected = oracle_devices(oracle, composite);
      const DriverAnswer answer = intel_answer(value, IntelDriver::k26_27, hierarchy, topology);
      ASSERT_EQ(answer.fate == DriverFate::kAbort, oracle.aborts) << value;
      ASSERT_EQ(answer.devices, expected) << value << " " << to_string(hierarchy);
      if (mask) {
        ASSERT_EQ(select_xpu(*mask, hierarchy, topology), expected) << value;
      }

      const bool is_accepted = well_formed && lint_xpu_mask(value, hierarchy, topology).accepted();
      ASSERT_EQ(is_accepted, well_formed && !expected.empty()) << value;
      accepted += is_accepted ? 1 : 0;
      for (const IntelDriver driver : kAllIntelDrivers) {
        const bool crash = is_crash(intel_answer(value, driver, hierarchy, topology).fate);
        crashed += crash ? 1 : 0;
        if (is_accepted) {
          ASSERT_FALSE(crash) << value << " " << to_string(driver);
        }
      }
    }
    if (well_formed && lint_xpu_mask(value, std::nullopt, topology).accepted()) {
      for (const Hierarchy hierarchy : kAllHierarchies) {
        ASSERT_FALSE(is_crash(intel_answer(value, IntelDriver::k26_27, hierarchy, topology).fate)) << value;
      }
    }
  });
  // The test reached accepted masks as well as crashes.
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(crashed, 100u);
}

INSTANTIATE_TEST_SUITE_P(Topologies, XpuProperty,
                         testing::Values(Topology{1, 1}, Topology{3, 1}, Topology{1, 2}, Topology{2, 2},
                                         Topology{2, 4}),
                         [](const auto& info) { return to_string(info.param); });

TEST(XpuEmptyEntries, CrashDriverExceptAtEnd) {
  for (const char* value : {",", ",,", ",0", "0,,1", "0,,", ",,0"}) {
    for (const IntelDriver driver : kAllIntelDrivers) {
      EXPECT_EQ(intel_answer(value, driver, Hierarchy::kFlat, {2, 4}).fate, DriverFate::kSegfault) << value;
    }
  }
  EXPECT_EQ(intel_answer("0,", IntelDriver::k26_27, Hierarchy::kFlat, {2, 4}).fate, DriverFate::kSelects);
}

// ---- CUDA ----

struct CudaLetter {
  std::string text;
  bool well_formed;
  enum { kIndex, kName, kNever } kind;
  int device;  // ordinal
};

const std::vector<CudaLetter> kCudaAlphabet = {
    {"0", true, CudaLetter::kIndex, 0},        {"1", true, CudaLetter::kIndex, 1},
    {" 2", true, CudaLetter::kIndex, 2},       {"9", true, CudaLetter::kIndex, 9},
    {"-1", true, CudaLetter::kNever, 0},       {"GPU-aaaa1", true, CudaLetter::kName, 0},
    {"GPU-aaaa2", true, CudaLetter::kName, 1}, {"GPU-aaaa", true, CudaLetter::kNever, 0},
    {"GPU-bbbb", true, CudaLetter::kNever, 0}, {"1gpu", false, CudaLetter::kIndex, 1},
    {"", false, CudaLetter::kNever, 0},        {"x", false, CudaLetter::kNever, 0},
};
const std::vector<std::string> kCudaUuids = {"GPU-aaaa1111-0000-0000-0000-000000000000",
                                             "GPU-aaaa2222-0000-0000-0000-000000000000",
                                             "GPU-cccc3333-0000-0000-0000-000000000000"};

std::vector<int> cuda_oracle(const std::vector<std::size_t>& sequence, int devices) {
  std::vector<int> visible;
  const bool names = kCudaAlphabet[sequence[0]].text[0] == 'G';
  for (const std::size_t i : sequence) {
    const CudaLetter& letter = kCudaAlphabet[i];
    const bool right_kind = letter.kind == (names ? CudaLetter::kName : CudaLetter::kIndex);
    if (!right_kind || letter.device >= devices) return visible;
    for (const int earlier : visible) {
      if (earlier == letter.device) return {};
    }
    visible.push_back(letter.device);
  }
  return visible;
}

TEST(CudaProperty, TheModelAgreesWithTheOracle) {
  std::size_t accepted = 0;
  for_each_sequence(kCudaAlphabet.size(), [&](const std::vector<std::size_t>& sequence) {
    const std::string value = spell(kCudaAlphabet, sequence);
    if (value.empty()) return;  // another rule applies: '' hides everything
    bool well_formed = true;
    for (const std::size_t i : sequence) well_formed = well_formed && kCudaAlphabet[i].well_formed;
    const CudaHost host{3, kCudaUuids, {}};
    std::vector<CudaDevice> expected;
    for (const int ordinal : cuda_oracle(sequence, host.devices)) expected.push_back({ordinal, {}});
    const CudaSelection selection = select_cuda(value, host);
    ASSERT_EQ(selection.devices, expected) << value;
    const MaskLint lint = lint_cuda_mask(value, host);
    ASSERT_EQ(lint.accepted(), well_formed) << value;
    accepted += lint.accepted() ? 1 : 0;
    // Every accepted list that hides a device has a warning.
    if (lint.accepted() && expected.size() < sequence.size() && value != "-1") {
      ASSERT_EQ(lint.warnings.empty(),
                kCudaAlphabet[sequence.back()].text == "-1" && expected.size() + 1 == sequence.size())
          << value;
    }
  });
  EXPECT_GT(accepted, 100u);
}

}  // namespace
}  // namespace proctor
