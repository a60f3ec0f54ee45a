#include "harness/cli/console/console_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/cli/console/messages.h"

namespace proctor::cli {
namespace {

std::string written(std::string_view text) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  ConsoleOutput(ends[1]).write(text);
  ::close(ends[1]);
  char buffer[256];
  const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  return {buffer, static_cast<std::size_t>(got > 0 ? got : 0)};
}

// What names and messages of others may hold; our own colours pass.
TEST(ConsoleOutput, HiddenControlsAreVisible) {
  EXPECT_EQ(written("\x1b[31mred\x1b[0m\n"), "\x1b[31mred\x1b[0m\n");
  EXPECT_EQ(written("case \u009b31m \u202etxet\n"), "case \\xC2\\x9B31m \\xE2\\x80\\xAEtxet\n");
  EXPECT_EQ(shown("case \u009b31m \u202etxet \x1b[31m"), "case \\xC2\\x9B31m \\xE2\\x80\\xAEtxet ");
}

}  // namespace
}  // namespace proctor::cli
