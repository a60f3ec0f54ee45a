#include "harness/runner/schedule/describe_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/runner/schedule/run_setup.h"

namespace proctor {
namespace {

using testing::ElementsAre;

PoolDevice device(const std::string& id, bool shared = false) {
  return {.device = {.id = id, .backend = "xpu", .name = "card", .simulated = shared}, .shared = shared};
}

Plan plan_of(Backend backend, const std::vector<int>& devices) {
  Plan plan;
  Suite suite;
  suite.name = "s";
  suite.backend = backend;
  plan.suites.push_back(suite);
  for (const int count : devices) {
    Case test;
    test.id = "s/" + std::to_string(plan.cases.size());
    test.devices = count;
    plan.cases.push_back(test);
  }
  return plan;
}

TEST(DevicePool, LeasesAreExclusiveAndAllOrNothing) {
  DevicePool pool({device("a"), device("b"), device("c")});
  const auto first = pool.lease("xpu", 2, "case");
  ASSERT_TRUE(first);
  EXPECT_THAT(*first, ElementsAre("a", "b"));
  EXPECT_FALSE(pool.lease("xpu", 2, "case"));
  const auto second = pool.lease("xpu", 1, "case");
  ASSERT_TRUE(second);
  EXPECT_THAT(*second, ElementsAre("c"));
  pool.release(*first);
  EXPECT_TRUE(pool.lease("xpu", 2, "case"));
  EXPECT_FALSE(pool.lease("cuda", 1, "case"));
}

TEST(DevicePool, RetiredDeviceIsNotLeasedAgain) {
  DevicePool pool({device("a"), device("b")});
  const auto lease = pool.lease("xpu", 1, "case");
  ASSERT_TRUE(lease);
  pool.retire(*lease);
  pool.release(*lease);
  const auto next = pool.lease("xpu", 1, "case");
  ASSERT_TRUE(next);
  EXPECT_THAT(*next, ElementsAre("b"));
  EXPECT_FALSE(pool.can_ever_lease("xpu", 2));
}

TEST(DevicePool, SharedTopologyServesAnyNumberOfCases) {
  DevicePool pool({device("sim:0", true), device("sim:1", true)});
  for (int i = 0; i < 5; ++i) {
    const auto lease = pool.lease("xpu", 1, "case");
    ASSERT_TRUE(lease);
    EXPECT_THAT(*lease, ElementsAre("sim:0", "sim:1"));
  }
  pool.retire({"sim:0", "sim:1"});
  EXPECT_TRUE(pool.can_ever_lease("xpu", 9));
}

TEST(DevicePool, DeviceIsIdleUnlessLeased) {
  DevicePool pool({device("a"), device("b")});
  EXPECT_EQ(pool.idle("xpu"), 2);
  EXPECT_EQ(pool.idle("xpu", {.only = {"b"}}), 1);
  ASSERT_TRUE(pool.lease("xpu", 1, "case", {.only = {"b"}}));
  EXPECT_EQ(pool.idle("xpu"), 1);
  EXPECT_EQ(pool.idle("xpu", {.only = {"b"}}), 0);
  EXPECT_EQ(pool.idle("cuda"), 0);
}

TEST(Jobs, AreLimitedToDevicesAndCores) {
  const DevicePool three({device("a"), device("b"), device("c")});
  const auto on_device = plan_of(Backend::kXpu, {1, 1, 1, 1, 1});
  EXPECT_EQ(effective_jobs(on_device, three, 0, 16).all, 3);
  EXPECT_EQ(effective_jobs(on_device, three, 8, 16).all, 3);
  EXPECT_EQ(effective_jobs(on_device, three, 2, 16).all, 2);

  const auto without = plan_of(Backend::kNone, {0, 0});
  EXPECT_EQ(effective_jobs(without, DevicePool({}), 0, 16).all, 16);
  EXPECT_EQ(effective_jobs(without, DevicePool({}), 0, 16).on_cores, 16);
  EXPECT_EQ(effective_jobs(without, DevicePool({}), 40, 16).all, 40);
  EXPECT_EQ(effective_jobs(without, DevicePool({}), 40, 16).on_cores, 40);

  const DevicePool shared({device("sim", true)});
  EXPECT_EQ(effective_jobs(on_device, shared, 0, 4).all, 4);
  EXPECT_EQ(effective_jobs(on_device, DevicePool({}), 0, 4).all, 1);
}

TEST(Jobs, AddUpForDeviceAndCpuCases) {
  const DevicePool three({device("a"), device("b"), device("c")});
  const auto mixed = plan_of(Backend::kXpu, {1, 0});
  EXPECT_EQ(effective_jobs(mixed, three, 0, 2).all, 5);
  EXPECT_EQ(effective_jobs(mixed, three, 0, 2).on_cores, 2);
  EXPECT_EQ(effective_jobs(mixed, three, 2, 16).all, 2);
  EXPECT_EQ(effective_jobs(mixed, three, 2, 16).on_cores, 2);
}

TEST(DevicesToRepeatOn, ReturnsNeighbouringSetsInRing) {
  using Sets = std::vector<std::set<std::string>>;
  const DevicePool three({device("a"), device("b"), device("c")});
  const auto sets = [](const DevicePool& pool, int devices, bool each_device = true) {
    return devices_to_repeat_on(pool, plan_of(Backend::kXpu, {devices}).cases[0], "xpu", each_device);
  };
  EXPECT_EQ(sets(three, 0), Sets());
  EXPECT_EQ(sets(three, 1), (Sets{{"a"}, {"b"}, {"c"}}));
  EXPECT_EQ(sets(three, 2), (Sets{{"a", "b"}, {"b", "c"}, {"a", "c"}}));
  EXPECT_EQ(sets(three, 3), (Sets{{"a", "b", "c"}}));
  EXPECT_EQ(sets(three, 4), Sets());
  EXPECT_EQ(sets(three, 2, /*each_device=*/false), Sets());
  EXPECT_EQ(sets(DevicePool({device("a", true), device("b", true)}), 2), Sets());
  EXPECT_EQ(sets(DevicePool({device("a"), device("b")}), 2), (Sets{{"a", "b"}}));
}

TEST(DescribePlan, DigestDependsOnTheIdsOnly) {
  RunPlanned one;
  RunPlanned two;
  RunPlanned three;
  describe_plan(plan_of(Backend::kXpu, {1, 2}), DevicePool({}), {.repeat = 1}, one);
  describe_plan(plan_of(Backend::kNone, {0, 0}), DevicePool({}), {.repeat = 4}, two);
  describe_plan(plan_of(Backend::kNone, {0}), DevicePool({}), {.repeat = 1}, three);
  EXPECT_EQ(one.plan_digest, two.plan_digest);
  EXPECT_NE(one.plan_digest, three.plan_digest);
  EXPECT_EQ(one.cases.size(), 2u);
  EXPECT_EQ(two.cases[0].repeat, 4);
}

TEST(DescribePlan, RecordsRepeatCountOfEachCase) {
  RunPlanned planned;
  planned.rules.each_device = true;
  const DevicePool pool({device("a"), device("b")});
  describe_plan(plan_of(Backend::kXpu, {1, 2}), pool, {.repeat = 3, .at_least = {{"s/1", 50}}}, planned);
  EXPECT_EQ(planned.cases[0].repeat, 6);
  EXPECT_EQ(planned.cases[1].repeat, 50);
  RunPlanned unlimited;
  unlimited.rules.each_device = true;
  describe_plan(plan_of(Backend::kXpu, {1, 2}), pool, {.repeat = kUnlimitedRepeats}, unlimited);
  EXPECT_EQ(unlimited.cases[0].repeat, kUnlimitedRepeats);
}

}  // namespace
}  // namespace proctor
