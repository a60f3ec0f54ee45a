// A GoogleTest program with Proctor's listener, and with difficult situations for it. These are bytes that
// are not text, failures outside of a test, death tests of both styles, forks, threads, and a setup that
// fails or skips everything.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace {

TEST(Plain, Passes) {}
TEST(Plain, Skips) { GTEST_SKIP() << "no \"card\""; }
TEST(Plain, FailsTwice) {
  EXPECT_EQ(1, 2) << "first";
  ADD_FAILURE() << "second";
}
TEST(Plain, SaysAnyBytes) {
  ADD_FAILURE() << std::string("quote\" back\\ tab\t nul\0 end", 25) << " \x7f caf\xc3\xa9 \xf0\x9f\x98\x80"
                << " bad \xff \xc3( \xed\xa0\x80 \xc0\xaf \xf5 \xe2\x82";
}
TEST(Plain, SaysMuch) { ADD_FAILURE() << std::string(1'000'000, '\1'); }
TEST(Plain, FailsOften) {
  for (int i = 0; i < 2000; ++i) ADD_FAILURE();
}
TEST(Plain, FailsInAThread) {
  std::thread([] { ADD_FAILURE() << "in a thread"; }).join();
}

TEST(Death, Fast) {
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_DEATH(std::abort(), "");
}
TEST(Death, Threadsafe) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(std::abort(), "");
}
// The child returns into GoogleTest and runs the remaining tests.
TEST(Death, Fork) {
  const pid_t child = fork();
  if (child == 0) {
    ADD_FAILURE() << "in the child";
    return;
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}
TEST(Death, ChildrenDoNotInheritTheDescriptor) {
  EXPECT_EQ(std::getenv("PROCTOR_EVENTS_FD"), nullptr);
  const int flags = fcntl(3, F_GETFD);  // the descriptor that the tests pass
  if (flags >= 0) {
    EXPECT_EQ(flags & FD_CLOEXEC, FD_CLOEXEC);
  }
}

class SetUpFails : public testing::Test {
 public:
  static void SetUpTestSuite() { ADD_FAILURE() << "no set-up"; }
};
TEST_F(SetUpFails, One) {}
TEST_F(SetUpFails, Two) {}

class TearDownFails : public testing::Test {
 public:
  static void TearDownTestSuite() { ADD_FAILURE() << "no teardown"; }
};
TEST_F(TearDownFails, One) {}
TEST_F(TearDownFails, Two) {}

TEST(Zuletzt, Passes) {}

class Named : public testing::TestWithParam<int> {};
TEST_P(Named, Holds) {}
INSTANTIATE_TEST_SUITE_P(Of, Named, testing::Values(1, 2));

// Does what the variable SURROUNDINGS contains.
class Surroundings : public testing::Environment {
 public:
  void SetUp() override {
    if (asked("skip")) GTEST_SKIP() << "nothing can run here";
    if (asked("fatal")) FAIL() << "no surroundings";
    if (asked("nonfatal")) ADD_FAILURE() << "odd surroundings";
  }
  void TearDown() override {
    if (asked("teardown")) ADD_FAILURE() << "surroundings are left";
  }

 private:
  static bool asked(const std::string& what) {
    const char* value = std::getenv("SURROUNDINGS");
    return value != nullptr && what == value;
  }
};
const testing::Environment* const kSurroundings =
    testing::AddGlobalTestEnvironment(new Surroundings);  // NOLINT: GoogleTest owns it

}  // namespace
