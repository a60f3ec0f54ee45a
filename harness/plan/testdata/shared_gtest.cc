// A GoogleTest program without Proctor's listener. Some tests end the process of all tests, others print or
// write text that looks like GoogleTest's. Each of these needs its own environment variable. Without a
// variable, all tests pass, fail or are skipped.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace {

bool wants(const char* what) { return getenv(what) != nullptr; }

class Many : public testing::TestWithParam<int> {};
TEST_P(Many, Case) {
  if (wants("MANY_CRASH") && GetParam() % atoi(getenv("MANY_CRASH")) == 0) raise(SIGSEGV);
}
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

// The typed tests have names that a filter cannot express.
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
// A child that returns from the test runs the other tests as if it were its parent.
TEST(Hard, ForksAndTheChildRunsOn) {
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

void print_begin(const char* name, FILE* stream = stdout) {
  fprintf(stream, "[ RUN      ] %s\n", name);
  fflush(stream);
}

void print_end_of_all() {
  puts("[==========] 9 tests from 1 test suite ran. (0 ms total)");
  fflush(stdout);
}

// Writes a result file in which both tests passed.
void write_results() {
  const std::string output = GTEST_FLAG_GET(output);  // "json:FILE"
  std::ofstream(output.substr(output.find(':') + 1))
      << R"({"testsuites":[{"name":"Liar","testsuite":[{"name":"WritesResults","status":"RUN","result":"COMPLETED"},)"
      << R"({"name":"AtTheEnd","status":"RUN","result":"COMPLETED"}]}]})";
}

TEST(Liar, PrintsABegin) {
  if (wants("PRINTS_A_BEGIN")) print_begin("Liar.AtTheEnd");
}
TEST(Liar, PrintsOnStderr) {
  if (wants("PRINTS_ON_STDERR")) print_begin("Liar.AtTheEnd", stderr);
}
TEST(Liar, PrintsOtherPrograms) {
  if (wants("PRINTS_OTHER_PROGRAMS")) print_begin("Other.Test");
}
TEST(Liar, PrintsABeginAndCrashes) {
  if (!wants("PRINTS_AND_CRASHES")) return;
  print_begin("Liar.AtTheEnd");
  raise(SIGSEGV);
}
TEST(Liar, PrintsTheEndAndFails) {
  if (!wants("PRINTS_THE_END")) return;
  print_end_of_all();
  FAIL() << "the truth";
}
TEST(Liar, WritesResults) {
  if (wants("WRITES_AND_CRASHES") || wants("WRITES_AND_EXITS")) write_results();
  if (wants("WRITES_AND_CRASHES")) raise(SIGSEGV);
  if (wants("WRITES_AND_EXITS")) exit(0);
}
TEST(Liar, AtTheEnd) {}

}  // namespace

int main(int argc, char** argv) {
  if (getenv("OWN_FILTER") != nullptr) {
    testing::InitGoogleTest(&argc, argv);
    if (!GTEST_FLAG_GET(list_tests)) GTEST_FLAG_SET(filter, getenv("OWN_FILTER"));
    return RUN_ALL_TESTS();
  }
  if (wants("NO_FILE")) {
    for (int i = 1; i < argc; ++i) {
      if (std::string(argv[i]).rfind("--gtest_output", 0) == 0) argv[i] = argv[--argc];
    }
    argv[argc] = nullptr;
  }
  testing::InitGoogleTest(&argc, argv);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (wants("OWN_PRINTER")) delete listeners.Release(listeners.default_result_printer());
  const int result = RUN_ALL_TESTS();
  if (GTEST_FLAG_GET(list_tests)) return result;
  if (wants("CRASHES_AT_THE_END")) raise(SIGSEGV);
  return wants("EXIT_WITH") ? atoi(getenv("EXIT_WITH")) : result;
}
