#include "harness/cli/run_launcher.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "harness/cli/run_test_support.h"

namespace proctor::cli {
namespace {

using testing::ElementsAre;

const std::vector<std::string> kLauncher = {"/root/ld.so", "--library-path", "/root/lib"};

class LauncherTest : public ProctorTest {
 protected:
  // A plan of one suite with one case `PROGRAM --one`.
  Plan plan_of(const std::string& program, Backend backend = Backend::kXpu) const {
    Suite suite;
    suite.name = "s";
    suite.command = {program};
    suite.directory = directory();
    suite.backend = backend;
    Case test;
    test.id = "s/one";
    test.argv = {program, "--one"};
    return {.suites = {suite}, .cases = {test}};
  }
};

TEST_F(LauncherTest, AProgramIsStartedThroughTheLoaderAndToldHow) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  auto plan = plan_of(self);
  ASSERT_TRUE(launch_through(kLauncher, Backend::kXpu, "", plan));
  EXPECT_THAT(plan.cases[0].argv, ElementsAre("/root/ld.so", "--library-path", "/root/lib", self, "--one"));
  EXPECT_EQ(plan.suites[0].env.at("PROCTOR_SELF"), self);
}

TEST_F(LauncherTest, AScriptAndAnotherBackendStayAsTheyAre) {
  write("suite.sh", "#!/bin/sh\n", true);
  for (auto plan : {plan_of("./suite.sh"), plan_of("/proc/self/exe", Backend::kNone)}) {
    const auto argv = plan.cases[0].argv;
    ASSERT_TRUE(launch_through(kLauncher, Backend::kXpu, "", plan));
    EXPECT_EQ(plan.cases[0].argv, argv);
    EXPECT_TRUE(plan.suites[0].env.empty());
  }
}

TEST_F(LauncherTest, AFileThatIsCutShortAsksForNothing) {
  write("cut", std::string("\x7f") + "ELF\x02", true);
  EXPECT_FALSE(asks_for_loader(path("cut")));
  EXPECT_FALSE(asks_for_loader(path("missing")));
  EXPECT_TRUE(asks_for_loader("/proc/self/exe"));
}

}  // namespace
}  // namespace proctor::cli
