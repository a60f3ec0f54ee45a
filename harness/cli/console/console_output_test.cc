#include "harness/cli/console/console_output.h"

#include <gmock/gmock.h>
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

// Escapes characters that names and messages may contain, but not Proctor's own colours.
TEST(ConsoleOutput, EscapesControlCharactersButNotColours) {
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

TEST(ConsoleOutput, PrintsGroupCommandsOnlyInGithubActions) {
  ::unsetenv("GITHUB_ACTIONS");
  EXPECT_EQ(group_of("output of s/a", "x\n"), "-- output of s/a --\nx\n");
  ::setenv("GITHUB_ACTIONS", "true", 1);
  EXPECT_EQ(group_of("output of s/a", "x\n"), "::group::output of s/a\nx\n::endgroup::\n");
  // Neither the title nor a test's output may end the group or act as a workflow command.
  EXPECT_EQ(group_of("s/a\n::endgroup::\r##[error]x%", "::endgroup::\n \t::error::x\n##[endgroup]\n"),
            "::group::s/a ::endgroup:: ##\\[error]x%25\n:\\:endgroup::\n \t:\\:error::x\n##\\[endgroup]\n"
            "::endgroup::\n");
  ::unsetenv("GITHUB_ACTIONS");
}

using testing::HasSubstr;
using testing::Not;

TEST(Elide, KeepsBothEndsAndCountsCharacters) {
  EXPECT_EQ(elide("short", 10), "short");
  EXPECT_EQ(elide("abcdefghij", 5), "ab…ij");
  EXPECT_EQ(elide("äöüäöüäöü", 5), "äö…öü");
  EXPECT_EQ(elide("abc", 1), "…");
  EXPECT_EQ(elide("", 0), "");
}

TEST(StatusLine, NamesRunningCasesWithAgeAndSlowness) {
  const LiveState state{.planned = 40,
                        .ended = 12,
                        .bad = 1,
                        .executed = 10,
                        .executed_ms = 20'000,
                        .jobs = 2,
                        .running = {{"suite/old", 31'000, 60'000}, {"suite/new", 3'000, 60'000}}};
  const std::string line = status_line(state, 200);
  EXPECT_THAT(line, HasSubstr("[12/40] 1 failed, ETA "));
  EXPECT_THAT(line, HasSubstr("2 running"));
  EXPECT_THAT(line, HasSubstr("suite/old 31 s SLOW"));
  EXPECT_THAT(line, Not(HasSubstr("suite/new 3 s SLOW")));
  EXPECT_THAT(line, HasSubstr("ETA"));
}

TEST(ProgressText, ShowsCountsFailuresAndEta) {
  EXPECT_EQ(progress_text({.planned = 9, .running = {}}), "[0/9]");
  EXPECT_EQ(progress_text({.planned = 9, .ended = 3, .executed = 3, .executed_ms = 3000, .running = {}}),
            "[3/9] ETA 6 s");
  EXPECT_EQ(progress_text({.planned = 1994,
                           .ended = 1050,
                           .bad = 12,
                           .executed = 1050,
                           .executed_ms = 1050 * 720,
                           .jobs = 4,
                           .running = {}}),
            "[1,050/1,994] 12 failed, ETA 3 min");
}

TEST(StatusLine, FitsTerminalWithLongIds) {
  LiveState state{.planned = 1, .running = {}};
  for (int i = 0; i < 50; ++i) state.running.push_back({std::string(300, 'x') + "\nü", 1000, 0});
  for (const int columns : {1, 20, 79, 200}) {
    const std::string line = status_line(state, columns);
    EXPECT_EQ(elide(line, columns), line);
    EXPECT_THAT(line, Not(HasSubstr("\n")));
  }
}

TEST(Slow, IsMoreThanHalfOfTheLimit) {
  EXPECT_FALSE(is_slow({"a", 500, 1000}));
  EXPECT_TRUE(is_slow({"a", 501, 1000}));
  EXPECT_FALSE(is_slow({"a", 999'999, 0}));
}

TEST(Eta, IsUnknownWithoutAnyExecutedCase) {
  EXPECT_EQ(eta_ms({.planned = 10, .running = {}}), -1);
  EXPECT_EQ(eta_ms({.planned = 10, .ended = 4, .executed = 4, .executed_ms = 4000, .jobs = 2, .running = {}}),
            3000);
}

TEST(Colours, NoColorPrecedesForceAndTerminal) {
  EXPECT_FALSE(wants_colours(false, nullptr, nullptr));
  EXPECT_TRUE(wants_colours(true, nullptr, nullptr));
  EXPECT_TRUE(wants_colours(false, nullptr, "1"));
  EXPECT_FALSE(wants_colours(false, nullptr, "0"));
  EXPECT_TRUE(wants_colours(true, nullptr, "0"));
  EXPECT_FALSE(wants_colours(true, "1", nullptr));
  EXPECT_FALSE(wants_colours(true, "1", "1"));
  EXPECT_TRUE(wants_colours(true, "", nullptr));
}

}  // namespace

}  // namespace proctor::cli
