#include "reports/accept/attribution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace proctor {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Way = std::pair<int, int>;  // source, target

// Returns the trials of copies between every two of `devices` devices. The copies in `wrong` failed.
std::vector<TrialResult> copies(int devices, const std::set<Way>& wrong) {
  std::vector<TrialResult> trials;
  for (int source = 0; source < devices; ++source) {
    for (int target = 0; target < devices; ++target) {
      if (source == target) continue;
      trials.push_back({.ok = !wrong.contains({source, target}),
                        .parts = {{std::to_string(source), "source"}, {std::to_string(target), "target"}}});
    }
  }
  return trials;
}

std::string text(const Attribution& attribution) {
  static constexpr const char* kKinds[] = {"explained", "device", "undecided", "connection"};
  return fmt::format("{} {}", kKinds[static_cast<int>(attribution.kind)],
                     fmt::join(attribution.devices, "+"));
}

// Returns each distinct attribution once, in order.
std::vector<std::string> attributed(const std::vector<TrialResult>& trials,
                                    const std::set<std::string>& guilty = {}) {
  std::set<std::string> texts;
  for (const auto& attribution :
       attribute(trials, [&](const std::string& id) { return guilty.contains(id); }))
    texts.insert(text(attribution));
  return {texts.begin(), texts.end()};
}

TEST(Attribution, AttributesNoDeviceWithoutFailure) { EXPECT_THAT(attributed(copies(4, {})), IsEmpty()); }

TEST(Attribution, WrongRowBelongsToSource) {
  EXPECT_THAT(attributed(copies(4, {{2, 0}, {2, 1}, {2, 3}})), ElementsAre("device 2"));
  EXPECT_THAT(guilty_devices(copies(4, {{2, 0}, {2, 1}, {2, 3}})), ElementsAre("2"));
}

TEST(Attribution, WrongColumnBelongsToTarget) {
  EXPECT_THAT(attributed(copies(3, {{0, 1}, {2, 1}})), ElementsAre("device 1"));
}

TEST(Attribution, TwoWrongRowsGiveTwoDevices) {
  EXPECT_THAT(attributed(copies(4, {{2, 0}, {2, 1}, {2, 3}, {3, 0}, {3, 1}, {3, 2}})),
              ElementsAre("device 2", "device 3"));
}

TEST(Attribution, SingleWrongPairIsConnection) {
  EXPECT_THAT(attributed(copies(4, {{2, 3}, {3, 2}})), ElementsAre("connection 2+3"));
}

// In a ring of copies each device is a source once, so the only failure may be that of the connection.
TEST(Attribution, FailureWithOnePartnerIsUndecided) {
  std::vector<TrialResult> ring;
  for (const auto& [source, target] : std::vector<Way>{{0, 1}, {1, 2}, {2, 3}, {0, 3}}) {
    ring.push_back({.ok = source != 2,
                    .parts = {{std::to_string(source), "source"}, {std::to_string(target), "target"}}});
  }
  EXPECT_THAT(attributed(ring), ElementsAre("undecided 2+3"));
}

TEST(Attribution, PassDoesNotClearFailedParts) {
  auto trials = copies(4, {{2, 0}, {2, 1}, {2, 3}});
  for (const auto& trial : copies(4, {})) trials.push_back(trial);
  EXPECT_THAT(attributed(trials), ElementsAre("device 2"));
  EXPECT_THAT(attributed({{.ok = false, .parts = {{"0", "source"}, {"1", "target"}}},
                          {.ok = true, .parts = {{"0", "source"}, {"1", "target"}}}}),
              ElementsAre("undecided 0+1"));
}

TEST(Attribution, OneFailedTrialOfThreeIsUndecided) {
  EXPECT_THAT(attributed({{.ok = false, .parts = {{"0", ""}, {"1", ""}, {"2", ""}}},
                          {.ok = true, .parts = {{"1", ""}, {"2", ""}, {"3", ""}}}}),
              ElementsAre("undecided 0+1+2"));
}

TEST(Attribution, FailureOfSingleDeviceIsThatDevice) {
  EXPECT_THAT(
      attributed({{.ok = false, .parts = {{"1", ""}}}, {.ok = true, .parts = {{"0", ""}, {"1", ""}}}}),
      ElementsAre("device 1"));
}

TEST(Attribution, TwoDevicesAreUndecided) {
  EXPECT_THAT(attributed(copies(2, {{0, 1}})), ElementsAre("undecided 0+1"));
  EXPECT_THAT(attributed(copies(2, {{0, 1}, {1, 0}})), ElementsAre("undecided 0+1"));
  EXPECT_THAT(guilty_devices(copies(2, {{0, 1}})), IsEmpty());
}

TEST(Attribution, AllPairsFailingIsUndecided) {
  std::set<Way> all;
  for (int source = 0; source < 4; ++source) {
    for (int target = 0; target < 4; ++target) all.insert({source, target});
  }
  EXPECT_THAT(guilty_devices(copies(4, all)), IsEmpty());
  EXPECT_THAT(attributed(copies(4, all)), Each(::testing::StartsWith("undecided")));
}

TEST(Attribution, KnownFaultyDeviceExplainsPairs) {
  EXPECT_THAT(attributed(copies(2, {{0, 1}}), {"1"}), ElementsAre("explained 0+1"));
  EXPECT_THAT(attributed(copies(4, {{2, 3}}), {"3"}), ElementsAre("explained 2+3"));
  EXPECT_THAT(attributed(copies(4, {{2, 3}}), {"0"}), ElementsAre("connection 2+3"));
}

// Trials of every two adjacent devices in a ring.
TEST(Attribution, WrongRingPairsGiveCommonDevice) {
  std::vector<TrialResult> ring;
  for (int first = 0; first < 4; ++first) {
    const int second = (first + 1) % 4;
    ring.push_back({.ok = first != 1 && second != 1,
                    .parts = {{std::to_string(first), ""}, {std::to_string(second), ""}}});
  }
  EXPECT_THAT(attributed(ring), ElementsAre("device 1"));
}

}  // namespace
}  // namespace proctor
