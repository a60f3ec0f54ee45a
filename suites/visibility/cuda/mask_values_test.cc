// Tests of the patterns of CUDA_VISIBLE_DEVICES.
#include "suites/visibility/cuda/mask_values.h"

#include <gtest/gtest.h>

namespace proctor::visibility {
namespace {

const Names kMachine{.pool = {"GPU-8932f937-d72c", "GPU-0a6b1c2d-93f1", "GPU-8932f9aa-11aa"},
                     .machine = {"GPU-8932f937-d72c", "GPU-0a6b1c2d-93f1", "GPU-8932f9aa-11aa"},
                     .ordinals = {0, 1, 2}};
// The same machine. The run may use only its last two devices.
const Names kPart{
    .pool = {"GPU-0a6b1c2d-93f1", "GPU-8932f9aa-11aa"}, .machine = kMachine.machine, .ordinals = {1, 2}};

std::string value(const char* pattern, const Names& names) {
  const auto made = mask_value(pattern, names);
  const auto* text = std::get_if<std::string>(&made);
  return text != nullptr ? *text : "lacking " + std::get<Lacking>(made).what;
}

TEST(MaskValues, NameDevicesOfThePool) {
  EXPECT_EQ(value("{1},{0}", kMachine), "1,0");
  EXPECT_EQ(value("{1},{0}", kPart), "2,1") << "ordinals count over the machine";
  EXPECT_EQ(value(" {last} ,+{0}gpu", kPart), " 2 ,+1gpu");
  EXPECT_EQ(value("{N},{0}", kPart), "3,1");
  EXPECT_EQ(value("{uuid1}", kPart), "GPU-8932f9aa-11aa");
  EXPECT_EQ(value("{prefix0},{prefix1}", kPart), "GPU-0,GPU-8932f9a");
  EXPECT_EQ(value("{prefix0}", kMachine), "GPU-8932f93");
  EXPECT_EQ(value("{bare0}", kMachine), "8932f937-d72c");
  EXPECT_EQ(value("{common}", kMachine), "GPU-8932f9");
  EXPECT_EQ(value("-{zero}", kMachine), "-0");
  EXPECT_EQ(value("", kMachine), "");
}

TEST(MaskValues, ReportMissingRequirementsOfPool) {
  EXPECT_EQ(value("{0},{2}", kPart), "lacking needs:devices>=3");
  EXPECT_EQ(value("{uuid2}", kPart), "lacking needs:devices>=3");
  EXPECT_EQ(value("{common}", kPart), "lacking needs:uuids_that_begin_alike");
  EXPECT_EQ(value("{zero}", kPart), "lacking needs:device_0");
}

TEST(MaskValues, UniquePrefixMayBeWholeUuid) {
  EXPECT_EQ(shortest_unique_prefix("GPU-ab", {"GPU-ab", "GPU-abc"}), "GPU-ab");
}

}  // namespace
}  // namespace proctor::visibility
