// A GoogleTest program without our listener, and with what is hard to tell of over a stream: each test of `Hard` speaks
// in another way than its name alone. What a test does that would end the whole program needs its variable in the
// environment, so that a program without it is one of passes, failures and skips.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace {

bool wants(const char* what) { return getenv(what) != nullptr; }

class Many : public testing::TestWithParam<int> {};
TEST_P(Many, Case) {}
INSTANTIATE_TEST_SUITE_P(All, Many, testing::Range(0, 40));

bool is_behind_passes = false;
TEST(Plain, Passes) {
  RecordProperty("width", 3);
  is_behind_passes = true;
}
TEST(Plain, FailsBehindPasses) { EXPECT_FALSE(is_behind_passes && wants("POLLUTED")) << "polluted"; }
TEST(Plain, Succeeds) { SUCCEED() << "all & well = 100%"; }
TEST(Plain, Fails) {
  EXPECT_EQ(1, 2) << "odd & = % \xff";
  ADD_FAILURE() << "second";
}
TEST(Plain, Skips) { GTEST_SKIP() << "no such card\nin this machine"; }
TEST(Plain, SkipsAndFails) {
  ADD_FAILURE() << "before";
  GTEST_SKIP() << "too late";
}
TEST(Plain, DISABLED_Never) { FAIL(); }

TEST(Death, Fast) { EXPECT_DEATH(abort(), ""); }
TEST(Death, Threadsafe) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(abort(), "");
}

// Of names that a filter cannot spell.
template <typename T>
class Typed : public testing::Test {};
struct Names {
  template <typename T>
  static std::string GetName(int) {  // NOLINT(readability-identifier-naming): GoogleTest's name for it
    return sizeof(T) == 1 ? "a::b - *" : "std::long?";
  }
};
using Types = testing::Types<char, long>;
TYPED_TEST_SUITE(Typed, Types, Names);
TYPED_TEST(Typed, Holds) {}

TEST(Hard, Crashes) {
  if (!wants("CRASHES")) return;
  EXPECT_EQ(1, 3) << "last words";
  raise(SIGSEGV);
}
TEST(Hard, Hangs) {
  while (wants("HANGS")) pause();
}
TEST(Hard, ExitsWith0) {
  if (wants("EXITS")) exit(0);
}
// A child that returns from the test goes on with the others, in its parent's name.
TEST(Hard, ForksAndTheChildSpeaks) {
  if (!wants("FORKS")) return;
  const pid_t child = fork();
  if (child == 0) return;
  waitpid(child, nullptr, 0);
  if (wants("FORKS_AND_FAILS")) FAIL() << "only the parent";
  if (wants("FORKS_AND_CRASHES")) raise(SIGSEGV);
}
TEST(Hard, Last) {}

class Group : public testing::Test {
 public:
  static void SetUpTestSuite() {
    if (wants("SET_UP_FAILS")) ADD_FAILURE() << "set up";
  }
  static void TearDownTestSuite() {
    if (wants("TEAR_DOWN_FAILS")) ADD_FAILURE() << "torn down";
    if (wants("TEAR_DOWN_EXITS")) exit(0);
  }
};
TEST_F(Group, One) {}
TEST_F(Group, Two) {}

class Surroundings : public testing::Environment {
  void SetUp() override {
    if (wants("NO_CARD")) GTEST_SKIP() << "no card at all";
    if (wants("NO_LICENCE")) FAIL() << "no licence";
  }
};
testing::Environment* const surroundings = testing::AddGlobalTestEnvironment(new Surroundings);

// The connections of this process: there is one.
template <typename Use>
void with_stream(Use use) {
  for (int fd = 3; fd < 64; ++fd) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0) use(fd);
  }
}

void write_to_stream(const std::string& text) {
  with_stream(
      [&](int fd) { EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size())); });
}

TEST(Liar, SaysHalfALine) {
  if (!wants("HALF_A_LINE")) return;
  write_to_stream("event=TestEnd&pas");
  with_stream([](int fd) { shutdown(fd, SHUT_RDWR); });
}
TEST(Liar, TellsOfAnother) {
  if (wants("TELLS_OF_ANOTHER"))
    write_to_stream("event=TestEnd&passed=1&elapsed_time=0ms\nevent=TestStart&name=NeverAskedFor\n");
}
TEST(Liar, PassesAndFails) {
  if (!wants("PASSES_AND_FAILS")) return;
  write_to_stream("event=TestEnd&passed=1&elapsed_time=0ms\nevent=TestStart&name=AtTheEnd\n");
  FAIL() << "the truth";
}
TEST(Liar, AtTheEnd) {}

}  // namespace

int main(int argc, char** argv) {
  if (getenv("OWN_FILTER") != nullptr) {
    testing::InitGoogleTest(&argc, argv);
    if (!GTEST_FLAG_GET(list_tests)) GTEST_FLAG_SET(filter, getenv("OWN_FILTER"));
    return RUN_ALL_TESTS();
  }
  if (wants("NO_STREAM")) {
    for (int i = 1; i < argc; ++i) {
      if (std::string(argv[i]).rfind("--gtest_stream_result_to", 0) == 0) argv[i] = argv[--argc];
    }
    argv[argc] = nullptr;
  }
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  if (GTEST_FLAG_GET(list_tests)) return result;
  if (wants("CRASHES_AT_THE_END")) raise(SIGSEGV);
  return wants("EXIT_WITH") ? atoi(getenv("EXIT_WITH")) : result;
}
