#include "harness/plan/sim_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::HasSubstr;

const simgpu::Topology k2x2 = *simgpu::parse_topology("xpu:2x2");

TEST(SimFaults, AcceptsKnownFaults) {
  EXPECT_TRUE(check_sim_faults("", nullptr));
  EXPECT_TRUE(check_sim_faults("memory.corrupt_copy:at=17,after=2;visibility.ignore_mask", &k2x2));
  EXPECT_TRUE(check_sim_faults("memory.corrupt_copy:dev=1,tile=1", &k2x2));
}

struct Refused {
  const char* faults;
  const char* what;
  const char* hint;
};

class RefusedFaults : public testing::TestWithParam<Refused> {};

TEST_P(RefusedFaults, ErrorsNameOffendingPart) {
  const auto checked = check_sim_faults(GetParam().faults, &k2x2);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(checked.error().what, HasSubstr("PROCTOR_SIM_FAULTS"));
  EXPECT_THAT(checked.error().what, HasSubstr(GetParam().what));
  EXPECT_THAT(checked.error().hint, HasSubstr(GetParam().hint));
}

INSTANTIATE_TEST_SUITE_P(All, RefusedFaults,
                         testing::Values(Refused{"memory.corupt_copy", "memory.corupt_copy",
                                                 "memory.corrupt_copy"},
                                         Refused{"memory.corrupt_copy:att=17", "att", "at"},
                                         Refused{"visibility.ignore_mask:at=17", "at", ""},
                                         Refused{"memory.corrupt_copy:dev=2", "2 cards", ""},
                                         Refused{"memory.corrupt_copy:tile=2", "tile=2", ""}));

TEST(SimFaults, RejectsFaultsWithoutSimulation) {
  const auto checked = check_sim_faults("memory.corrupt_copy", nullptr);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(checked.error().hint, HasSubstr("--sim"));
}

}  // namespace
}  // namespace proctor
