#include "harness/plan/opaque.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OpaqueCommand command(std::optional<std::string> backend = {}, std::optional<int> gpus = std::nullopt) {
  OpaqueCommand made;
  made.selection.command = {"./train.sh", "--filter", "*"};
  made.directory = "/somewhere";
  made.selection.backend = std::move(backend);
  made.selection.gpus = gpus;
  return made;
}

// Chooses as on a machine with Intel devices: a command has devices only if it requests them.
Result<void> choose(Suite& suite) {
  if (suite.devices_by != DevicesBy::kAuto) return {};
  suite.devices = std::max(suite.devices, 0);
  suite.backend = suite.devices > 0 ? Backend::kXpu : Backend::kNone;
  return {};
}

std::string refusal(const OpaqueCommand& options) {
  const auto plan = plan_opaque(options, choose);
  return plan ? "accepted" : plan.error().what;
}

TEST(PlanOpaque, MakesOneCaseOfCommand) {
  const auto plan = plan_opaque(command(), choose);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->cases.size(), 1u);
  const Case& test = plan->cases[0];
  EXPECT_THAT(test.argv, ElementsAre("./train.sh", "--filter", "*"));
  EXPECT_EQ(test.id.substr(0, test.id.find('/')), "train_sh");
  EXPECT_EQ(plan->suites[0].directory, "/somewhere");
}

TEST(PlanOpaque, HasStallLimitButNoTimeLimit) {
  const auto plan = plan_opaque(command(), choose);
  ASSERT_TRUE(plan);
  const CasePolicy& policy = plan->cases[0].policy;
  EXPECT_FALSE(policy.timeout);
  EXPECT_EQ(policy.stall, Milliseconds(30 * 60'000));
  EXPECT_EQ(policy.grace, Milliseconds(10'000));
  EXPECT_EQ(policy.retries, 0);
}

TEST(PlanOpaque, ServerHasNoStallLimit) {
  OpaqueCommand options = command();
  options.is_server = true;
  EXPECT_FALSE(plan_opaque(options, choose)->cases[0].policy.stall);
  options.limits.stall = "5m";
  EXPECT_EQ(plan_opaque(options, choose)->cases[0].policy.stall, Milliseconds(5 * 60'000));
}

TEST(PlanOpaque, AppliesLimitsFromOptions) {
  OpaqueCommand options = command();
  options.limits.timeout = "2m";
  options.limits.grace = "1s";
  options.limits.stall = "30s";
  const auto plan = plan_opaque(options, choose);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cases[0].policy.timeout, Milliseconds(120'000));
  EXPECT_EQ(plan->cases[0].policy.grace, Milliseconds(1'000));
  EXPECT_EQ(plan->cases[0].policy.stall, Milliseconds(30'000));
  options.limits.timeout = options.limits.stall = "off";
  const auto unlimited = plan_opaque(options, choose);
  ASSERT_TRUE(unlimited);
  EXPECT_FALSE(unlimited->cases[0].policy.timeout);
  EXPECT_FALSE(unlimited->cases[0].policy.stall);
  options.limits.timeout = "soon";
  EXPECT_THAT(refusal(options), HasSubstr("soon"));
}

struct DeviceRow {
  std::optional<std::string> backend;
  std::optional<int> gpus;
  Backend wanted;
  int devices;
};

TEST(PlanOpaque, ChoosesBackendAndDeviceCount) {
  for (const DeviceRow& row : {DeviceRow{{}, std::nullopt, Backend::kNone, 0},
                               {{}, 0, Backend::kNone, 0},
                               {{}, 2, Backend::kXpu, 2},
                               {"cuda", std::nullopt, Backend::kCuda, 1},
                               {"cuda", 4, Backend::kCuda, 4},
                               {"xpu", 0, Backend::kXpu, 0},
                               {"none", std::nullopt, Backend::kNone, 0}}) {
    const auto plan = plan_opaque(command(row.backend, row.gpus), choose);
    ASSERT_TRUE(plan) << row.backend.value_or("");
    EXPECT_EQ(plan->suites[0].backend, row.wanted) << row.backend.value_or("");
    EXPECT_EQ(plan->cases[0].devices, row.devices) << row.backend.value_or("");
  }
}

TEST(PlanOpaque, UsesUuidMaskByDefault) {
  OpaqueCommand options = command("cuda");
  EXPECT_EQ(plan_opaque(options, choose)->suites[0].mask, "uuid");
  options.selection.mask = "index";
  EXPECT_EQ(plan_opaque(options, choose)->suites[0].mask, "index");
  options.selection.backend = "none";
  EXPECT_THAT(refusal(options), HasSubstr("--mask index requires a command that uses a device"));
  options.selection.backend = "xpu";
  EXPECT_EQ(refusal(options), "accepted") << "ZE_AFFINITY_MASK has numbers anyway";
  options.selection.mask = "uuid";
  EXPECT_THAT(refusal(options), HasSubstr("only numbers"));
}

TEST(PlanOpaque, RejectsContradictoryOptions) {
  EXPECT_THAT(refusal(command({}, -1)), HasSubstr("must not be negative"));
  EXPECT_THAT(refusal(command("none", 1)), HasSubstr("--backend none"));
  EXPECT_THAT(refusal(command("all")), HasSubstr("--backend all"));
  EXPECT_THAT(refusal(command("rocm")), HasSubstr("rocm"));
  OpaqueCommand empty = command();
  empty.selection.command = {""};
  EXPECT_THAT(refusal(empty), HasSubstr("is empty"));
}

}  // namespace
}  // namespace proctor
