#include "harness/plan/recognise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "harness/base/user_name.h"
#include "harness/frameworks/command.h"
#include "harness/frameworks/doctest.h"
#include "harness/frameworks/gtest.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/pytest.h"
#include "harness/journal/outcome.h"
#include "harness/plan/test_support.h"

namespace proctor {
namespace {

using testing_support::refuse_to_run;
using testing_support::run_listing;
using testing_support::ScratchDirectory;

class RecogniseTest : public testing::Test {
 protected:
  Suite suite(std::vector<std::string> command) {
    Suite made;
    made.name = "s";
    made.command = std::move(command);
    made.directory = scratch_.path();
    made.origin = "command line";
    return made;
  }
  Recognition recognised(std::vector<std::string> command, const ListRunner& run) {
    Suite made = suite(std::move(command));
    const Result<Recognition> found = recognise(made, made.command[0], {.run = run}, warnings_);
    EXPECT_TRUE(found) << found.error().what;
    return *found;
  }
  // Returns a file that begins like an executable. It is never started.
  std::string elf(std::string_view content) {
    const std::string file = scratch_.write("elf",
                                            "\x7f"
                                            "ELF" +
                                                std::string(content));
    chmod(file.c_str(), 0755);
    return file;
  }
  // Returns `out` for every listing command and records the command line.
  ListRunner answering(const ListOutput& out) {
    return [this, out](const ListCommand& command) -> Result<ListOutput> {
      asked_.assign(command.argv.begin() + 1, command.argv.end());
      return out;
    };
  }

  ScratchDirectory scratch_;
  std::vector<Warning> warnings_;
  std::vector<std::string> asked_;
};

TEST_F(RecogniseTest, RecognisesGtestProgram) {
  const Recognition found = recognised({testing_support::sample_gtest()}, run_listing);
  EXPECT_EQ(found.kind, &gtest_kind());
  EXPECT_EQ(found.reason, "lists GoogleTest tests");
  EXPECT_TRUE(found.listing.has_value());
}

// This test program contains both options as literals, but supports only GoogleTest's.
TEST_F(RecogniseTest, IgnoresProctorOptionInsideGtestProgram) {
  const Recognition found =
      recognised({std::filesystem::read_symlink("/proc/self/exe").string()}, run_listing);
  EXPECT_EQ(found.kind, &gtest_kind());
  ASSERT_TRUE(found.listing.has_value());
  EXPECT_TRUE(found.listing->event_lines.empty());
}

// A launcher with a listing option would start the command after its `--`.
TEST_F(RecogniseTest, DoesNotStartLaunchers) {
  const Recognition found =
      recognised({elf("--proctor-list gtest_list_tests --list-tests " + launcher_mark()), "run", "--", "rm"},
                 refuse_to_run);
  EXPECT_EQ(found.kind, &command_kind());
  EXPECT_EQ(found.reason, "judged by its exit code");
}

TEST_F(RecogniseTest, RecognisesProctorProgramUsingGtest) {
  ListOutput out;
  out.exit_code = 0;
  out.event_lines = {R"({"v":1,"event":"case","case":"A.B"})"};
  const Recognition found = recognised({elf("--proctor-list gtest_list_tests")}, answering(out));
  EXPECT_EQ(found.kind, &proctor_kind());
  EXPECT_THAT(asked_, testing::ElementsAre("--proctor-list", "--gtest_list_tests"));
}

TEST_F(RecogniseTest, ScriptIsCommandAndIsNotStarted) {
  const Recognition found =
      recognised({scratch_.write_script("x", "# --proctor-list gtest_list_tests\n")}, refuse_to_run);
  EXPECT_EQ(found.kind, &command_kind());
}

TEST_F(RecogniseTest, OrdinaryExecutableIsNotStarted) {
  EXPECT_EQ(recognised({"/bin/true"}, refuse_to_run).kind, &command_kind());
}

TEST_F(RecogniseTest, FindsMarkersAtAnyOffset) {
  const std::string marker = "--proctor-list";
  for (std::size_t at :
       {std::size_t{0}, std::size_t{1} << 20, (std::size_t{1} << 20) - 10, (std::size_t{1} << 20) - 18,
        (std::size_t{1} << 20) - 4, (std::size_t{2} << 20) - 40, std::size_t{3} << 20}) {
    EXPECT_EQ(recognised({elf(std::string(at, 'x') + marker)}, refuse_to_run).kind, &proctor_kind()) << at;
  }
  EXPECT_EQ(recognised({elf(std::string(2 << 20, 'x'))}, refuse_to_run).kind, &command_kind());
}

TEST_F(RecogniseTest, GtestOptionWithoutListMakesCommand) {
  ListOutput out;
  out.exit_code = 3;
  const Recognition exits = recognised({elf("gtest_list_tests")}, answering(out));
  EXPECT_EQ(exits.kind, &command_kind());
  EXPECT_EQ(exits.reason, "accepts --gtest_list_tests, but exits with 3 with it");
  out.exit_code = 0;
  out.stdout_text = "hello\n";
  EXPECT_EQ(recognised({elf("gtest_list_tests")}, answering(out)).reason,
            "accepts --gtest_list_tests, but prints no list with it");
  out.file_text = R"({"tests": 0, "name": "AllTests", "testsuites": []})";
  EXPECT_EQ(recognised({elf("gtest_list_tests")}, answering(out)).reason,
            "accepts --gtest_list_tests, but lists no tests with it");
}

// An ambiguous list is still a list. A program that is judged by its exit code alone could pass.
TEST_F(RecogniseTest, AmbiguousTestListsKeepFramework) {
  ListOutput out;
  out.exit_code = 0;
  out.stdout_text = "T/a:b.\n  X\nT/a-b.\n  X\n";
  EXPECT_EQ(recognised({elf("gtest_list_tests")}, answering(out)).kind, &gtest_kind());
  out.stdout_text =
      R"(<doctest><TestCase name="x*" skipped="false"/><TestCase name="xy" skipped="false"/></doctest>)";
  EXPECT_EQ(recognised({elf("dt-list-test-cases")}, answering(out)).kind, &doctest_kind());
  out.stdout_text = "<doctest binary=\"x\">\n <TestCase name=\"of an old version\"/>\n</doctest>\n";
  EXPECT_EQ(recognised({elf("dt-list-test-cases")}, answering(out)).kind, &doctest_kind());
  out.stdout_text = "All available test cases:\n  its name has\n    two lines\n1 test case\n\n";
  EXPECT_EQ(recognised({elf("--list-tests")}, answering(out)).kind->name(), "catch2");
  EXPECT_THAT(asked_, testing::Contains("--list-tests")) << "and nothing is asked twice";
}

// A program that is judged by its exit code alone could pass.
TEST_F(RecogniseTest, HangingOrCrashingGtestProgramStaysGtest) {
  ListOutput hang;
  hang.timed_out = true;
  EXPECT_EQ(recognised({elf("gtest_list_tests")}, answering(hang)).kind, &gtest_kind());
  ListOutput crash;
  crash.exit_signal = 11;
  EXPECT_EQ(recognised({elf("libgtest.so.1")}, answering(crash)).kind, &gtest_kind());
}

TEST_F(RecogniseTest, RecognisesPytestCommands) {
  const auto kind = [&](std::vector<std::string> command) {
    Suite made = suite(std::move(command));
    const Result<Recognition> found = recognise(made, "/bin/true", {.run = refuse_to_run}, warnings_);
    return found->kind;
  };
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"pytest"},
                                             {"/usr/bin/pytest", "-q"},
                                             {"py.test"},
                                             {"pytest-3"},
                                             {"python", "-m", "pytest"},
                                             {"/opt/bin/python3.11", "-u", "-m", "pytest", "tests"}}) {
    EXPECT_EQ(kind(command), &pytest_kind()) << command[0];
  }
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"pytester"},
                                             {"python", "pytest"},
                                             {"python", "x.py", "-m", "pytest"},
                                             {"python", "-m"},
                                             {"python"},
                                             {"python", "-m", "torch", "-m", "pytest"}}) {
    EXPECT_EQ(kind(command), &command_kind()) << command[0];
  }
}

TEST_F(RecogniseTest, FindsExecutables) {
  const std::string file = scratch_.write_script("bin/tool", "");
  EXPECT_EQ(*find_executable(suite({"bin/tool"}), ""), file);
  EXPECT_EQ(*find_executable(suite({file}), ""), file);
  EXPECT_EQ(*find_executable(suite({"tool"}), "/nowhere:" + scratch_.path() + "/bin"), file);
  EXPECT_EQ(*find_executable(suite({"tool"}), "bin"), file);
}

TEST_F(RecogniseTest, MissingExecutableSuggestsNearestProgram) {
  scratch_.write_script("bin/attention_test", "");
  scratch_.write("bin/plain", "#!/bin/sh\n");
  scratch_.write("bin/notes", "no program\n");
  ASSERT_EQ(::chmod((scratch_.path() + "/bin/plain").c_str(), 0640), 0);
  const auto error = [&](const std::string& program) {
    const Result<std::string> found = find_executable(suite({program}), scratch_.path() + "/bin");
    if (found) return Error::internal("found");
    EXPECT_EQ(found.error().kind, ErrorKind::kUsage);
    return found.error();
  };
  EXPECT_EQ(error("bin/atention_test").what,
            "Suite `s` (command line) cannot start: `bin/atention_test` does not exist (from " +
                scratch_.path() + ")");
  EXPECT_EQ(error("bin/atention_test").hint, "Did you mean `bin/attention_test`?");
  EXPECT_EQ(error("attention-tst").what,
            "Suite `s` (command line) cannot start: `attention-tst` is not in PATH");
  EXPECT_EQ(error("attention-tst").hint, "Did you mean `attention_test`?");
  const std::string user = user_name(::geteuid());
  EXPECT_EQ(error("bin/plain").what,
            "Suite `s` (command line) cannot start: `bin/plain` cannot be executed by " + user +
                ": its mode is 0640, its owner " + user);
  EXPECT_EQ(error("bin/plain").hint, "Try: chmod +x " + scratch_.path() + "/bin/plain");
  EXPECT_EQ(error("bin/notes").what,
            "Suite `s` (command line) cannot start: `bin/notes` is " + std::string(kNoProgram));
  EXPECT_EQ(error("bin/notes").hint, "") << "no mode makes a program of it";
  EXPECT_EQ(error("echo a | wc").hint, "To run a line of shell, write: -- sh -c 'echo a | wc'");
  EXPECT_EQ(error("./bin").what, "Suite `s` (command line) cannot start: `./bin` is a directory");
  scratch_.write_script("here", "");
  EXPECT_EQ(error("here").hint, "Did you mean `./here`?");
}

}  // namespace
}  // namespace proctor
