#include "harness/cli/console/console_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "harness/cli/console/messages.h"

namespace proctor::cli {
namespace {

std::string written_by(const std::function<void(ConsoleOutput&)>& writer) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  ConsoleOutput output(ends[1]);
  writer(output);
  ::close(ends[1]);
  char buffer[1024];
  const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  return {buffer, static_cast<std::size_t>(got > 0 ? got : 0)};
}

std::string written(std::string_view text) {
  return written_by([&](ConsoleOutput& output) { output.write(text); });
}

// What names and messages of others may hold; our own colours pass.
TEST(ConsoleOutput, HiddenControlsAreVisible) {
  EXPECT_EQ(written("\x1b[31mred\x1b[0m\n"), "\x1b[31mred\x1b[0m\n");
  EXPECT_EQ(written("case \u009b31m \u202etxet\n"), "case \\xC2\\x9B31m \\xE2\\x80\\xAEtxet\n");
  EXPECT_EQ(shown("case \u009b31m \u202etxet \x1b[31m"), "case \\xC2\\x9B31m \\xE2\\x80\\xAEtxet ");
}

std::string group_of(const std::string& title, const std::string& text) {
  return written_by([&](ConsoleOutput& output) {
    output.begin_group(title);
    output.write(text);
    output.end_group();
  });
}

TEST(ConsoleOutput, GroupsAreCommandsOnlyInAStepOfGitHub) {
  ::unsetenv("GITHUB_ACTIONS");
  EXPECT_EQ(group_of("output of s/a", "x\n"), "-- output of s/a --\nx\n");
  ::setenv("GITHUB_ACTIONS", "true", 1);
  EXPECT_EQ(group_of("output of s/a", "x\n"), "::group::output of s/a\nx\n::endgroup::\n");
  // Neither the title nor what a test prints ends the group or is a command of its own.
  EXPECT_EQ(group_of("s/a\n::endgroup::\r##[error]x%", "::endgroup::\n \t::error::x\n##[endgroup]\n"),
            "::group::s/a ::endgroup:: ##\\[error]x%25\n:\\:endgroup::\n \t:\\:error::x\n##\\[endgroup]\n"
            "::endgroup::\n");
  ::unsetenv("GITHUB_ACTIONS");
}

}  // namespace
}  // namespace proctor::cli
