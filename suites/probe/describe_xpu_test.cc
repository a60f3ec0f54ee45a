#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "suites/probe/probe_main.h"

namespace proctor::probe {
namespace {

std::string found_in(const std::string& bytes, unsigned build) {
  const std::string path = testing::TempDir() + "library-" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary) << bytes;
  auto name = release_name(path, build);
  unlink(path.c_str());
  return name;
}

TEST(ReleaseName, FindsStringWithBuildNumber) {
  const std::string nul(1, '\0');
  EXPECT_EQ(found_in("ELF" + nul + "22.43.24595" + nul + "more", 24595), "22.43.24595");
  EXPECT_EQ(found_in("ELF" + nul + "26.27.38646.4" + nul, 38646), "26.27.38646");
  EXPECT_EQ(found_in("ELF" + nul + "22.43.24595", 24595), "22.43.24595");
  EXPECT_EQ(found_in("ELF" + nul + "26.27.039122" + nul, 39122), "26.27.39122");
}

TEST(ReleaseName, IgnoresOtherStrings) {
  const std::string nul(1, '\0');
  EXPECT_EQ(found_in("ELF" + nul + "22.43.24595" + nul, 24596), "");
  EXPECT_EQ(found_in("ELF" + nul + "22.43.245951" + nul, 24595), "");
  EXPECT_EQ(found_in("ELF" + nul + "x22.43.24595" + nul, 24595), "");
  EXPECT_EQ(found_in("ELF" + nul + "2x.43.24595" + nul, 24595), "");
  EXPECT_EQ(found_in(".24595", 24595), "");
  EXPECT_EQ(release_name("/nonexistent", 24595), "");
}

}  // namespace
}  // namespace proctor::probe
