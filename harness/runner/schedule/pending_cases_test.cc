#include "harness/runner/schedule/pending_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/plan/written_off.h"

namespace proctor {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

PoolDevice card(const std::string& id) {
  PoolDevice made;
  made.device.id = id;
  made.device.backend = "xpu";
  return made;
}

// Cases of one suite and two cards of one kind.
class PendingCasesTest : public testing::Test {
 protected:
  PendingCasesTest() {
    Suite suite;
    suite.backend = Backend::kXpu;
    plan_.suites = {suite};
    setup_.plan = &plan_;
    setup_.devices = &found_;
  }

  void add(int devices, double duration_ms = 0, const std::string& group = "") {
    Case test;
    test.id = "s/" + std::to_string(plan_.cases.size());
    test.group = group;
    test.devices = devices;
    if (duration_ms > 0) setup_.repeats.order.durations[test.id] = duration_ms;
    plan_.cases.push_back(std::move(test));
  }
  void admit() {
    pending_.admit([](const CaseGroup::Finished& refused) { ADD_FAILURE() << refused.index; },
                   [](std::size_t, std::size_t) {});
  }
  void plan(std::size_t cases, const std::string& group, int devices) {
    for (std::size_t i = 0; i < cases; ++i) add(devices, 0, group);
    admit();
  }
  // Starts all groups that fit concurrently, ends them at once, and repeats this. Returns the order of the starts.
  std::vector<std::size_t> run_concurrently() {
    std::vector<std::size_t> order;
    while (const auto start = pending_.take_first_that_fits()) {
      order.push_back(start->group.first());
      pool_.release(start->devices);
    }
    return order;
  }

  Plan plan_;
  FoundDevices found_;
  RunSetup setup_;
  DevicePool pool_{{card("a"), card("b")}};
  PendingCases pending_{setup_, pool_};
};

TEST_F(PendingCasesTest, StartsInPlanOrderOnFreeDevices) {
  plan(3, "", 1);
  const auto first = pending_.take_first_that_fits();
  const auto second = pending_.take_first_that_fits();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->group.first(), 0U);
  EXPECT_EQ(second->group.first(), 1U);
  EXPECT_FALSE(pending_.take_first_that_fits());
  pool_.release(first->devices);
  const auto third = pending_.take_first_that_fits();
  ASSERT_TRUE(third);
  EXPECT_EQ(third->devices, first->devices);
  EXPECT_TRUE(pending_.empty());
}

TEST_F(PendingCasesTest, CaseWithoutDevicesDoesNotWait) {
  for (const int devices : {2, 2, 0}) add(devices);
  admit();
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 0U);
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 2U);
  EXPECT_FALSE(pending_.take_first_that_fits());
}

TEST_F(PendingCasesTest, LoneGroupStartsLastWithoutRunningCases) {
  plan(3, "", 0);
  auto lone = pending_.take_first_that_fits();
  ASSERT_TRUE(lone);
  EXPECT_FALSE(lone->is_lone);
  pending_.put_lone(std::move(lone->group));
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 1U) << "although nothing runs";
  EXPECT_EQ(pending_.take_first_that_fits({.is_empty = false})->group.first(), 2U);
  EXPECT_FALSE(pending_.take_first_that_fits({.is_empty = false}));
  EXPECT_FALSE(pending_.empty());
  lone = pending_.take_first_that_fits();
  ASSERT_TRUE(lone);
  EXPECT_EQ(lone->group.first(), 0U);
  EXPECT_TRUE(lone->is_lone);
  EXPECT_TRUE(pending_.empty());
}

// All ranks of a case run on one node, also if a Slurm step has several nodes.
TEST_F(PendingCasesTest, SkipsRanksOnSeveralNodes) {
  for (int i = 0; i < 3; ++i) add(2);
  plan_.cases[0].ranks = plan_.cases[0].devices = 4;
  plan_.cases[1].ranks = plan_.cases[1].devices = 2;
  plan_.cases[2].devices = 4;
  const auto refusals = [this](int nodes) {
    found_.nodes = nodes;
    PendingCases pending(setup_, pool_);
    std::vector<std::string> refused;
    pending.admit(
        [&](const CaseGroup::Finished& case_refused) {
          refused.push_back(std::to_string(case_refused.index) + " " + case_refused.verdict.reason.text());
        },
        [](std::size_t, std::size_t) {});
    return refused;
  };
  EXPECT_EQ(refusals(1), (std::vector<std::string>{"0 needs:cards>=4", "2 needs:devices>=4"}));
  EXPECT_EQ(refusals(2), (std::vector<std::string>{"0 needs:one_node", "2 needs:devices>=4"}));
}

TEST_F(PendingCasesTest, WrittenOffCaseIsSkippedWithReason) {
  for (int i = 0; i < 2; ++i) add(0);
  plan_.cases[0].disabled = true;
  plan_.cases[0].config_skip = std::make_shared<const WrittenOff>(
      WrittenOff{.reason = "waits", .owner = "jane", .expires = Day(std::chrono::sys_days())});
  std::vector<std::string> refused;
  pending_.admit(
      [&](const CaseGroup::Finished& finished) {
        refused.push_back(std::to_string(finished.index) + " " + to_string(finished.verdict));
      },
      [](std::size_t, std::size_t) {});
  EXPECT_THAT(refused, ElementsAre("0 skip(config:waits (jane, until 1970-01-01))"));
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 1U);
}

// ---- Concurrency groups ----

TEST_F(PendingCasesTest, FullConcurrencyGroupWaits) {
  for (int i = 0; i < 5; ++i) add(0);
  for (const std::size_t i : {0U, 1U, 2U}) plan_.cases[i].policy.concurrency_group = "licence";
  plan_.concurrency_groups = {{"licence", 2}};
  admit();
  std::vector<std::size_t> order;
  std::optional<PendingCases::Start> first;
  while (auto start = pending_.take_first_that_fits()) {
    order.push_back(start->group.first());
    if (!first) first = std::move(start);
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 3, 4));
  EXPECT_FALSE(pending_.empty());
  pending_.ended(first->concurrency_group);
  const auto last = pending_.take_first_that_fits();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->group.first(), 2U);
}

// The case was passed over more often than kMostPassedOver. Others still get its card, because the limit of its group
// blocks it.
TEST_F(PendingCasesTest, FullConcurrencyGroupClaimsNoDevice) {
  for (std::size_t i = 0; i < kMostPassedOver + 3; ++i) add(1);
  for (const std::size_t i : {0U, 1U}) plan_.cases[i].policy.concurrency_group = "licence";
  plan_.concurrency_groups = {{"licence", 1}};
  admit();
  const auto first = pending_.take_first_that_fits();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->group.first(), 0U);
  const std::vector<std::size_t> others = run_concurrently();
  EXPECT_EQ(others.size(), kMostPassedOver + 1) << "on the other card";
  EXPECT_THAT(others, ::testing::Not(::testing::Contains(1U)));
  pending_.ended(first->concurrency_group);
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 1U);
}

TEST_F(PendingCasesTest, RetryCountsInConcurrencyGroup) {
  for (int i = 0; i < 2; ++i) add(0);
  for (Case& test : plan_.cases) test.policy.concurrency_group = "licence";
  plan_.concurrency_groups = {{"licence", 1}};
  admit();
  auto first = pending_.take_first_that_fits();
  ASSERT_TRUE(first);
  pending_.put_back(std::move(first->group));
  EXPECT_FALSE(pending_.take_first_that_fits()) << "its process has not ended yet";
  pending_.ended(first->concurrency_group);
  const auto again = pending_.take_first_that_fits();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->group.first(), 0U);
  EXPECT_FALSE(pending_.take_first_that_fits());
}

TEST_F(PendingCasesTest, SharedProcessHasOneConcurrencyGroup) {
  for (int i = 0; i < 6; ++i) add(0, 0, "file" + std::to_string(i / 4));
  for (const std::size_t i : {0U, 1U, 4U, 5U}) plan_.cases[i].policy.concurrency_group = "licence";
  plan_.concurrency_groups = {{"licence", 1}};
  admit();
  const auto first = pending_.take_first_that_fits();
  const auto second = pending_.take_first_that_fits();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->group.size(), 2U);
  EXPECT_EQ(first->concurrency_group, "licence");
  EXPECT_EQ(second->group.first(), 2U) << "of the same file, and in no group";
  EXPECT_EQ(second->group.size(), 2U);
  EXPECT_EQ(second->concurrency_group, "");
  EXPECT_FALSE(pending_.take_first_that_fits());
  pending_.ended(first->concurrency_group);
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 4U);
}

// ---- Order ----

TEST_F(PendingCasesTest, StartsMultiDeviceAndLongestCasesFirst) {
  add(1, 100);
  add(1, 5000);
  add(2, 100);
  add(1, 0);  // unknown duration: the median is used
  add(2, 5000);
  admit();
  EXPECT_THAT(run_concurrently(), ElementsAre(4, 2, 1, 3, 0));
}

TEST_F(PendingCasesTest, KeepsPlanOrderOnRequest) {
  setup_.repeats.order.longest_first = false;
  add(1, 100);
  add(2, 100);
  add(1, 5000);
  admit();
  EXPECT_THAT(run_concurrently(), ElementsAre(0, 1, 2));
}

TEST_F(PendingCasesTest, GroupDurationSumsAllCases) {
  add(1, 1000);
  for (int i = 0; i < 4; ++i) add(1, 900, "shared");
  admit();
  EXPECT_THAT(run_concurrently(), ElementsAre(1, 0));
}

TEST_F(PendingCasesTest, SplitsFileWithTooManyCases) {
  setup_.repeats.order.longest_first = false;
  plan_.suites[0].process = "file";
  plan(1001, "test_a.py", 1);
  EXPECT_THAT(run_concurrently(), ElementsAre(0, 500, 1000));
}

TEST_F(PendingCasesTest, SplitsFileWithLongDuration) {
  setup_.repeats.order.longest_first = false;
  plan_.suites[0].process = "file";
  for (const double minutes : {4, 6, 1, 11, 2}) add(1, minutes * 60'000, "test_a.py");
  admit();
  EXPECT_THAT(run_concurrently(), ElementsAre(0, 2, 3, 4));
}

TEST_F(PendingCasesTest, NeverSplitsSuiteProcess) {
  plan_.suites[0].process = "suite";
  for (int i = 0; i < 501; ++i) add(1, 60'000, "*");
  admit();
  EXPECT_THAT(run_concurrently(), ElementsAre(0));
}

TEST_F(PendingCasesTest, PinnedCasesWaitForPinnedDevice) {
  setup_.repeats.pins = {{"s/1", "a"}, {"s/2", "a"}};
  add(1, 5000);
  add(1, 100);
  add(1, 9000);
  admit();
  const auto first = pending_.take_first_that_fits();
  const auto second = pending_.take_first_that_fits();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->group.first(), 2U);
  EXPECT_THAT(first->devices, ElementsAre("a"));
  EXPECT_EQ(second->group.first(), 0U);
  EXPECT_FALSE(pending_.take_first_that_fits());
  pool_.release(second->devices);
  EXPECT_FALSE(pending_.take_first_that_fits());  // the case waits for device "a"
  pool_.release(first->devices);
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 1U);
}

TEST_F(PendingCasesTest, DevicePartsFollowStartOrder) {
  setup_.repeats.each_device = true;
  add(1, 100);
  add(1, 5000);
  pending_.admit([](const CaseGroup::Finished&) {},
                 [](std::size_t, std::size_t parts) { EXPECT_EQ(parts, 2U); });
  EXPECT_THAT(run_concurrently(), ElementsAre(1, 1, 0, 0));
}

// Four devices form a ring of pairs. Each device has two partners. Cases for the same pair share a process.
TEST_F(PendingCasesTest, DevicePairsFormRing) {
  DevicePool four({card("a"), card("b"), card("c"), card("d")});
  PendingCases pending(setup_, four);
  setup_.repeats.each_device = true;
  add(2, 100, "shared");
  add(2, 100, "shared");
  std::vector<std::size_t> parts;
  pending.admit([](const CaseGroup::Finished&) {},
                [&](std::size_t, std::size_t count) { parts.push_back(count); });
  EXPECT_THAT(parts, ElementsAre(4, 4));
  const auto first = pending.take_first_that_fits();
  const auto sibling = pending.take_first_that_fits();
  ASSERT_TRUE(first && sibling);
  EXPECT_THAT(first->devices, ElementsAre("a", "b"));
  EXPECT_EQ(first->group.size(), 2U);
  EXPECT_THAT(sibling->devices, ElementsAre("c", "d"));
  EXPECT_FALSE(pending.take_first_that_fits());
  four.release(first->devices);
  four.release(sibling->devices);
  EXPECT_THAT(pending.take_first_that_fits()->devices, ElementsAre("b", "c"));
  EXPECT_THAT(pending.take_first_that_fits()->devices, ElementsAre("a", "d")) << "in the order of the pool";
  EXPECT_TRUE(pending.empty());
}

TEST_F(PendingCasesTest, DropsCasesInPlanOrder) {
  add(1, 100);
  add(2, 100);
  add(1, 5000);
  admit();
  auto start = pending_.take_first_that_fits();
  pending_.put_back(std::move(start->group));
  std::vector<std::size_t> dropped;
  for (const auto& finished : pending_.drop({{Outcome::kNotrun, Reason::kRunLimit}, ""}))
    dropped.push_back(finished.index);
  EXPECT_THAT(dropped, ElementsAre(0, 1, 2));
  EXPECT_TRUE(pending_.empty());
  EXPECT_FALSE(pending_.take_first_that_fits());
}

// ---- Concurrent groups ----

TEST_F(PendingCasesTest, StartsOnlyDeviceCasesWithoutCore) {
  for (const int devices : {0, 1, 0, 1}) add(devices);
  admit();
  EXPECT_EQ(pending_.take_first_that_fits({.has_core = false})->group.first(), 1U);
  EXPECT_EQ(pending_.take_first_that_fits({.has_core = false})->group.first(), 3U);
  EXPECT_FALSE(pending_.take_first_that_fits({.has_core = false}));
  EXPECT_EQ(pending_.take_first_that_fits({.has_core = true})->group.first(), 0U);
}

TEST_F(PendingCasesTest, PrefersCaseOfRequestedResource) {
  for (const int devices : {0, 0, 1, 1}) add(devices);
  admit();
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 0U);
  EXPECT_EQ(pending_.take_first_that_fits({.first = Takes::kDevices})->group.first(), 2U);
  EXPECT_EQ(pending_.take_first_that_fits({.first = Takes::kCore})->group.first(), 1U);
  const auto last =
      pending_.take_first_that_fits({.first = Takes::kCore});  // no group that needs a core remains
  ASSERT_TRUE(last);
  EXPECT_EQ(last->group.first(), 3U);
  EXPECT_EQ(last->takes, Takes::kDevices);
}

// ---- No starvation ----

// One card is always in use when the other one is free. The case for both cards would otherwise start last.
TEST_F(PendingCasesTest, PassedOverCaseGetsNextDevices) {
  add(1, 9000);
  add(2, 5000);
  for (int i = 0; i < 200; ++i) add(1, 100);
  setup_.repeats.order.longest_first = false;
  admit();
  auto before = pending_.take_first_that_fits();
  ASSERT_EQ(before->group.first(), 0U);
  std::size_t passed_over = 0;
  for (auto next = pending_.take_first_that_fits(); next; next = pending_.take_first_that_fits()) {
    ++passed_over;
    pool_.release(before->devices);
    before = std::move(next);
  }
  EXPECT_EQ(passed_over, kMostPassedOver);
  pool_.release(before->devices);
  const auto waited = pending_.take_first_that_fits();
  ASSERT_TRUE(waited);
  EXPECT_EQ(waited->group.first(), 1U);
  EXPECT_THAT(waited->devices, SizeIs(2));
}

// The next case in the same queue waited equally long.
TEST_F(PendingCasesTest, AllPassedOverCasesStartNext) {
  add(1, 9000);
  add(2, 5000);
  add(2, 5000);
  for (int i = 0; i < 200; ++i) add(1, 100);
  setup_.repeats.order.longest_first = false;
  admit();
  const auto long_one = pending_.take_first_that_fits();
  for (std::size_t i = 0; i < kMostPassedOver; ++i) {
    const auto next = pending_.take_first_that_fits();
    ASSERT_TRUE(next);
    pool_.release(next->devices);
  }
  EXPECT_FALSE(pending_.take_first_that_fits());
  pool_.release(long_one->devices);
  EXPECT_THAT(run_concurrently(), SizeIs(152));
  EXPECT_TRUE(pending_.empty());
}

TEST_F(PendingCasesTest, PinnedCaseReservesOnlyPinnedDevice) {
  setup_.repeats.pins = {{"s/0", "a"}, {"s/1", "a"}};
  add(1, 9000);
  add(1, 5000);
  for (int i = 0; i < 100; ++i) add(1, 100);
  setup_.repeats.order.longest_first = false;
  admit();
  const auto long_one = pending_.take_first_that_fits();
  ASSERT_THAT(long_one->devices, ElementsAre("a"));
  for (int i = 0; i < 80; ++i) {
    const auto next = pending_.take_first_that_fits();
    ASSERT_TRUE(next);
    EXPECT_THAT(next->devices, ElementsAre("b"));
    pool_.release(next->devices);
  }
  pool_.release(long_one->devices);
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 1U);
}

TEST_F(PendingCasesTest, PutBackGroupDoesNotStarve) {
  add(2, 9000);
  for (int i = 0; i < 200; ++i) add(1, 100);
  admit();
  auto first = pending_.take_first_that_fits();
  ASSERT_EQ(first->group.first(), 0U);
  pool_.release({"a"});
  pending_.put_back(std::move(first->group));
  std::size_t passed_over = 0;
  while (const auto next = pending_.take_first_that_fits()) {
    ++passed_over;
    pool_.release(next->devices);
  }
  EXPECT_EQ(passed_over, kMostPassedOver);
  pool_.release({"b"});
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 0U);
}

// A case that can never start reserves no device.
TEST_F(PendingCasesTest, CaseWithLostDevicesReservesNoDevice) {
  add(1, 9000);
  add(2, 5000);
  for (int i = 0; i < 200; ++i) add(1, 100);
  setup_.repeats.order.longest_first = false;
  admit();
  const auto lost = pending_.take_first_that_fits();
  pool_.retire(lost->devices);
  EXPECT_THAT(run_concurrently(), SizeIs(200));
  EXPECT_FALSE(pending_.empty());
}

TEST_F(PendingCasesTest, ExternallyBlockedCaseReservesNoDevice) {
  add(2, 5000);
  for (int i = 0; i < 200; ++i) add(1, 100);
  admit();
  std::size_t started = 0;
  for (; started < 2 * kMostPassedOver; ++started) {
    pool_.leave_out("a", "another run holds it");  // for one second from now
    const auto next = pending_.take_first_that_fits();
    if (!next || next->group.first() == 0) break;
    pool_.release(next->devices);
  }
  EXPECT_EQ(started, 2 * kMostPassedOver);
}

// ---- Groups ----

TEST_F(PendingCasesTest, PutBackGroupStartsNext) {
  plan(3, "", 2);
  auto first = pending_.take_first_that_fits();
  ASSERT_TRUE(first);
  pending_.put_back(std::move(first->group));
  EXPECT_FALSE(pending_.take_first_that_fits());
  pool_.release(first->devices);
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 0U);
}

TEST_F(PendingCasesTest, CasesWithSharedProcessFormOneGroup) {
  plan(5, "shared", 1);
  auto start = pending_.take_first_that_fits();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->group.next_process().size(), 5U);
  EXPECT_TRUE(pending_.empty());
}

// While all devices are in use, each end requests the next case. This request must examine few groups only.
TEST_F(PendingCasesTest, ExaminesFewGroupsWithManyWaiting) {
  constexpr std::size_t kCases = 100'000;
  plan(kCases, "", 1);
  std::vector<std::string> held;
  for (std::size_t i = 0; i < kCases; ++i) {
    auto start = pending_.take_first_that_fits();
    if (!start) {
      pool_.release({held.front()});
      held.erase(held.begin());
      start = pending_.take_first_that_fits();
    }
    ASSERT_TRUE(start);
    held.push_back(start->devices.front());
  }
  EXPECT_TRUE(pending_.empty());
  EXPECT_LT(pending_.looked_at(), 3 * kCases);
}

TEST_F(PendingCasesTest, ExaminesFewGroupsWithMixedDemands) {
  constexpr std::size_t kCases = 100'000;
  for (std::size_t i = 0; i < kCases; ++i) add(static_cast<int>(i % 3), static_cast<double>(i % 7'000));
  admit();
  std::vector<std::vector<std::string>> held;
  for (std::size_t i = 0; i < kCases; ++i) {
    auto start = pending_.take_first_that_fits();
    for (; !start && !held.empty(); start = pending_.take_first_that_fits()) {
      pool_.release(held.front());
      held.erase(held.begin());
    }
    ASSERT_TRUE(start);
    if (!start->devices.empty()) held.push_back(start->devices);
  }
  EXPECT_TRUE(pending_.empty());
  EXPECT_LT(pending_.looked_at(), 6 * kCases);
}

// ---- Turns ----

TEST_F(PendingCasesTest, GroupMovesToEndAfterTurn) {
  setup_.repeats.turns = Milliseconds(1);
  setup_.repeats.repeat = kUnlimitedRepeats;
  for (const int devices : {1, 0, 1}) add(devices);
  admit();
  std::vector<std::size_t> order;
  for (int i = 0; i < 7; ++i) {
    auto start = pending_.take_first_that_fits();
    ASSERT_TRUE(start);
    order.push_back(start->group.first());
    pool_.release(start->devices);
    pending_.put_last(std::move(start->group));
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(pending_.drop({{Outcome::kNotrun, Reason::kRunLimit}, ""}), SizeIs(3));
  EXPECT_TRUE(pending_.empty());
}

// Each repeat of a case has a separate log.
TEST_F(PendingCasesTest, UnlimitedRepeatsHaveDistinctNumbersPerDevice) {
  setup_.repeats.each_device = true;
  setup_.repeats.repeat = kUnlimitedRepeats;
  add(1);
  pending_.admit([](const CaseGroup::Finished&) {}, [](std::size_t, std::size_t) {});
  std::vector<int> first;
  while (auto start = pending_.take_first_that_fits()) first.push_back(start->group.next_process()[0].repeat);
  EXPECT_THAT(first, ElementsAre(1, 1 + kUnlimitedRepeats / 2));
}

TEST_F(PendingCasesTest, RunsSelectedCasesMoreOften) {
  setup_.repeats.repeat = 2;
  setup_.repeats.at_least = {{"s/1", 3}, {"s/2", 1}};
  for (int i = 0; i < 3; ++i) add(0);
  admit();
  std::vector<int> runs;
  while (auto start = pending_.take_first_that_fits()) {
    int count = 0;
    do {
      ++count;
      start->group.next_process();
    } while (!start->group.attempt_ended(0, {Outcome::kPass, {}}, {}, false, false));
    runs.push_back(count);
  }
  EXPECT_THAT(runs, ElementsAre(2, 3, 2));
}

}  // namespace
}  // namespace proctor
