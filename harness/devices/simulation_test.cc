#include "harness/devices/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace proctor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

TEST(SimTopology, IsReadAsWritten) {
  const auto both = parse_sim_topology("xpu:2x4,cuda:3");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->xpu, (XpuTopology{2, 4}));
  EXPECT_EQ(both->cuda_cards, 3);
  EXPECT_EQ(both->text, "xpu:2x4,cuda:3");
  EXPECT_EQ(parse_sim_topology("xpu:64x1")->xpu, (XpuTopology{64, 1}));
  EXPECT_EQ(parse_sim_topology("cuda:1")->xpu, std::nullopt);
}

struct BadText {
  const char* text;
  const char* what;  // part of the error
  const char* hint;  // part of the hint
};

class BadTopology : public testing::TestWithParam<BadText> {};

TEST_P(BadTopology, IsAUsageErrorThatNamesValueAndPlace) {
  const auto parsed = parse_sim_topology(GetParam().text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(parsed.error().what, HasSubstr(std::string("--sim '") + GetParam().text + "'"));
  EXPECT_THAT(parsed.error().what, HasSubstr(GetParam().what));
  EXPECT_THAT(parsed.error().hint, HasSubstr(GetParam().hint));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTopology,
    testing::Values(
        BadText{"", "an entry is empty", "xpu:2x2"}, BadText{"xpu:2x2,", "an entry is empty", "xpu:2x2"},
        BadText{",xpu:2x2", "an entry is empty", "xpu:2x2"},
        BadText{"xpuu:2x2", "'xpuu'", "Did you mean xpu?"}, BadText{"cud:2", "'cud'", "Did you mean cuda?"},
        BadText{"rocm:2", "'rocm'", "xpu and cuda"}, BadText{"xpu", "':' and a size are missing", "xpu:2x2"},
        BadText{"xpu:2", "'x' is missing", "xpu:2x2"}, BadText{"xpu:0x2", "cards must be", "xpu:2x2"},
        BadText{"xpu:65x1", "from 1 to 64", "xpu:2x2"}, BadText{"xpu:2x5", "from 1 to 4", "xpu:2x2"},
        BadText{"xpu:2x", "tiles must be", "xpu:2x2"}, BadText{"xpu:-1x2", "cards must be", "xpu:2x2"},
        BadText{"xpu: 2x2", "cards must be", "xpu:2x2"}, BadText{"xpu:2x2x2", "tiles must be", "xpu:2x2"},
        BadText{"xpu:99999999999x1", "cards must be", "xpu:2x2"},
        BadText{"cuda:0", "cards must be", "cuda:N"}, BadText{"cuda:2x2", "cards must be", "cuda:N"},
        BadText{"cuda:1,cuda:2", "given twice", "xpu:2x2"},
        BadText{"xpu:1x1,xpu:2x2", "given twice", "xpu:2x2"}));

TEST(SimDriver, IntelWithAndWithoutPrefix) {
  EXPECT_EQ(parse_sim_driver("intel")->prefix, "");
  EXPECT_EQ(parse_sim_driver("intel@/opt/neo")->prefix, "/opt/neo");
}

TEST(SimDriver, OthersAreRefused) {
  EXPECT_THAT(parse_sim_driver("simgpu").error().hint, HasSubstr("--sim-driver intel"));
  EXPECT_THAT(parse_sim_driver("Intl").error().what, HasSubstr("'Intl'"));
  EXPECT_THAT(parse_sim_driver("intell").error().hint, HasSubstr("intel"));
  EXPECT_THAT(parse_sim_driver("intel@").error().what, HasSubstr("no directory"));
  EXPECT_EQ(parse_sim_driver("").error().kind, ErrorKind::kUsage);
}

TEST(Simulation, IntelsDriverHasNoCudaDevices) {
  EXPECT_TRUE(parse_simulation("xpu:2x2", "intel"));
  EXPECT_EQ(parse_simulation("xpu:2x2,cuda:1", "intel").error().kind, ErrorKind::kUsage);
}

TEST(Simulation, DevicesAreNamedByCard) {
  const auto devices = simulated_devices(*parse_simulation("xpu:3x2", "intel"));
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[2].id, "xpu-sim:2");
  EXPECT_EQ(devices[2].tiles, 2);
  EXPECT_TRUE(to_planned(devices[2]).simulated);
}

class Prefix : public testing::Test {
 protected:
  Prefix() {
    std::string path = testing::TempDir() + "prefix-XXXXXX";
    root_ = mkdtemp(path.data());
  }
  ~Prefix() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path) const {
    std::filesystem::create_directories((root_ + "/" + path).substr(0, (root_ + "/" + path).rfind('/')));
    std::ofstream(root_ + "/" + path) << "x";
  }
  std::string root_;
};

TEST_F(Prefix, ADriverBelowItIsFoundAndPutFirst) {
  put("usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1");
  put("usr/lib/x86_64-linux-gnu/libze_loader.so.1");
  const auto environment = intel_environment({2, 4}, {SimDriverKind::kIntel, root_}, "/mine");
  EXPECT_EQ(environment.missing, "");
  EXPECT_EQ(environment.driver_path, root_ + "/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1");
  EXPECT_THAT(environment.set, Contains(Pair("LD_LIBRARY_PATH", root_ + "/usr/lib/x86_64-linux-gnu:/mine")));
  EXPECT_THAT(environment.set, Contains(Pair("CreateMultipleRootDevices", "2")));
  EXPECT_THAT(environment.set, Contains(Pair("CreateMultipleSubDevices", "4")));
  EXPECT_THAT(environment.unset, Contains("ZE_AFFINITY_MASK"));
}

TEST_F(Prefix, ADriverThatIsNotThereIsNamed) {
  EXPECT_EQ(intel_environment({1, 1}, {SimDriverKind::kIntel, root_}, "").missing,
            "library_missing:libze_intel_gpu.so.1");
}

}  // namespace
}  // namespace proctor
