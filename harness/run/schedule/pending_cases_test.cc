#include "harness/run/schedule/pending_cases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace proctor {
namespace {

PoolDevice card(const std::string& id) {
  PoolDevice made;
  made.device.id = id;
  made.device.backend = "xpu";
  return made;
}

// Cases of one suite, on two cards of one kind.
class PendingCasesTest : public testing::Test {
 protected:
  void plan(std::size_t cases, const std::string& group, int devices) {
    Suite suite;
    suite.backend = Backend::kXpu;
    plan_.suites = {suite};
    for (std::size_t i = 0; i < cases; ++i) {
      Case test;
      test.id = "s/" + std::to_string(i);
      test.group = group;
      test.devices = devices;
      plan_.cases.push_back(std::move(test));
    }
    setup_.plan = &plan_;
    setup_.devices = &found_;
    pending_.admit([](const CaseGroup::Finished& refused) { ADD_FAILURE() << refused.index; },
                   [](std::size_t, std::size_t) {});
  }

  Plan plan_;
  FoundDevices found_;
  RunSetup setup_;
  DevicePool pool_{{card("a"), card("b")}};
  PendingCases pending_{setup_, pool_};
};

TEST_F(PendingCasesTest, StartInTheOrderOfThePlanWhereDevicesAreFree) {
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

TEST_F(PendingCasesTest, WhoNeedsNoDeviceDoesNotWaitForThoseWhoDo) {
  plan(3, "", 2);
  plan_.cases[2].devices = 0;
  PendingCases pending(setup_, pool_);
  pending.admit([](const CaseGroup::Finished&) {}, [](std::size_t, std::size_t) {});
  EXPECT_EQ(pending.take_first_that_fits()->group.first(), 0U);
  EXPECT_EQ(pending.take_first_that_fits()->group.first(), 2U);
  EXPECT_FALSE(pending.take_first_that_fits());
}

TEST_F(PendingCasesTest, AGroupThatIsPutBackIsTheNextOne) {
  plan(3, "", 2);
  auto first = pending_.take_first_that_fits();
  ASSERT_TRUE(first);
  pending_.put_back(std::move(first->group));
  EXPECT_FALSE(pending_.take_first_that_fits());
  pool_.release(first->devices);
  EXPECT_EQ(pending_.take_first_that_fits()->group.first(), 0U);
}

TEST_F(PendingCasesTest, CasesOfOneProcessAreOneGroup) {
  plan(5, "shared", 1);
  auto start = pending_.take_first_that_fits();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->group.next_process().size(), 5U);
  EXPECT_TRUE(pending_.empty());
}

// While all devices are taken, the next case is asked for after each end: that must not look at all of them.
TEST_F(PendingCasesTest, LooksAtAFewGroupsForEachStartHoweverManyWait) {
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

}  // namespace
}  // namespace proctor
