#include "harness/runner/machine/dynamic_loader.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using testing::ElementsAre;

const std::vector<std::string> kLoaderWords = {"/root/ld.so", "--library-path", "/root/lib"};

class DynamicLoaderTest : public testing::Test {
 protected:
  // A plan of one suite with one case `PROGRAM --one`.
  Plan plan_of(const std::string& program, Backend backend = Backend::kXpu) const {
    Suite suite;
    suite.name = "s";
    suite.command = {program};
    suite.directory = directory_.string();
    suite.backend = backend;
    Case test;
    test.id = "s/one";
    test.argv = {program, "--one"};
    return {.suites = {suite}, .cases = {test}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    std::filesystem::permissions(directory_ / name, std::filesystem::perms::owner_all);
  }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

 private:
  TempDir directory_;
};

TEST_F(DynamicLoaderTest, AProgramIsStartedThroughTheLoaderAndToldHow) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  auto plan = plan_of(self);
  ASSERT_TRUE(start_through(kLoaderWords, Backend::kXpu, "", plan));
  EXPECT_THAT(plan.cases[0].argv, ElementsAre("/root/ld.so", "--library-path", "/root/lib", self, "--one"));
  EXPECT_EQ(plan.suites[0].env.at("PROCTOR_SELF"), self);
}

TEST_F(DynamicLoaderTest, AScriptAndAnotherBackendStayAsTheyAre) {
  write("suite.sh", "#!/bin/sh\n");
  for (auto plan : {plan_of("./suite.sh"), plan_of("/proc/self/exe", Backend::kNone)}) {
    const auto argv = plan.cases[0].argv;
    ASSERT_TRUE(start_through(kLoaderWords, Backend::kXpu, "", plan));
    EXPECT_EQ(plan.cases[0].argv, argv);
    EXPECT_TRUE(plan.suites[0].env.empty());
  }
}

TEST_F(DynamicLoaderTest, AFileThatIsCutShortAsksForNothing) {
  write("cut", std::string("\x7f") + "ELF\x02");
  EXPECT_FALSE(asks_for_loader(path("cut")));
  EXPECT_FALSE(asks_for_loader(path("missing")));
  EXPECT_TRUE(asks_for_loader("/proc/self/exe"));
}

}  // namespace
}  // namespace proctor
