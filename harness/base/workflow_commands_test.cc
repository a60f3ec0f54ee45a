#include "harness/base/workflow_commands.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace proctor {
namespace {

// Returns whether any runner could execute the line: any name, after white space of any kind.
bool may_be_command(std::string line) {
  if (line.find("##[") != line.npos || line.find("##vso[") != line.npos) return true;
  const auto at = line.find_first_not_of(" \t\v\f\x1c\xc2\xa0");
  return at != line.npos && line.compare(at, 2, "::") == 0;
}

bool holds_command(const std::string& text) {
  std::string line;
  for (const char c : text + "\n") {
    if (c != '\n' && c != '\r') {
      line += c;
    } else if (may_be_command(std::exchange(line, {}))) {
      return true;
    }
  }
  return false;
}

std::string guarded(const std::string& text) { return WorkflowCommandGuard().pass(text); }

TEST(WorkflowCommands, EscapesFieldDelimiters) {
  EXPECT_EQ(escape_command_data("50% of\r\na: b, c"), "50%25 of%0D%0Aa: b, c");
  EXPECT_EQ(escape_command_property("a: b, c%\n"), "a%3A b%2C c%25%0A");
}

TEST(WorkflowCommandGuard, BreaksAndCountsEveryCommandForm) {
  WorkflowCommandGuard guard;
  EXPECT_EQ(guard.pass("::error file=a::b\n \t::stop-commands::x\r::set-output name=a::b\n"),
            ":\\:error file=a::b\n \t:\\:stop-commands::x\r:\\:set-output name=a::b\n");
  EXPECT_EQ(guard.pass("see ##[error]x ###[warning]y ##vso[task.complete]z ##VSO[a]\n"),
            "see ##\\[error]x ###\\[warning]y ##vso\\[task.complete]z ##VSO\\[a]\n");
  EXPECT_EQ(guard.pass("\xc2\xa0::error::x\n\xef\xbb\xbf::debug::y\n"),
            "\xc2\xa0:\\:error::x\n\xef\xbb\xbf:\\:debug::y\n");
  EXPECT_EQ(guard.broken(), 9u);
}

TEST(WorkflowCommandGuard, LeavesOtherTextUnchanged) {
  for (const std::string text :
       {"std::vector<int> a::b\n", ": ::x\n", "a # [b] ##x[ #[\n", "tests/a.py::test_b PASSED\n", ""}) {
    EXPECT_EQ(guarded(text), text);
  }
}

TEST(WorkflowCommandGuard, BreaksCommandsSplitAcrossWrites) {
  WorkflowCommandGuard guard;
  std::string out;
  for (const char* piece :
       {"#", "#", "[error]\n:", ":error::x", "\nno newline", "::error::after another's line"})
    out += guard.pass(piece);
  EXPECT_EQ(out, "##\\[error]\n:\\:error::x\nno newline:\\:error::after another's line");
}

// The oracle checks all short texts of the relevant bytes, and random long texts in random pieces.
TEST(WorkflowCommandGuard, OutputContainsNoCommand) {
  const std::string bytes = ":#[ \nx";
  std::size_t commands = 0;
  for (unsigned number = 0; number < 6u * 6 * 6 * 6 * 6 * 6; ++number) {
    std::string text;
    for (unsigned rest = number, i = 0; i < 6; ++i, rest /= 6) text += bytes[rest % 6];
    const std::string out = guarded(text);
    ASSERT_FALSE(holds_command(out)) << out;
    commands += holds_command(text) ? 1 : 0;
    std::string back = out;
    std::erase(back, '\\');
    ASSERT_EQ(back, text);
  }
  EXPECT_GT(commands, 1000u);

  std::mt19937 random(7);
  const std::vector<std::string> words = {"::",    ":",  "##", "#", "[",       "vso[",
                                          "error", "\n", "\r", " ", "\xc2\xa0"};
  for (int round = 0; round < 2000; ++round) {
    WorkflowCommandGuard guard;
    std::string text;
    std::string out;
    for (int piece = 0; piece < 8; ++piece) {
      std::string part;
      for (unsigned i = random() % 4; i > 0; --i) part += words[random() % words.size()];
      text += part;
      out += guard.pass(part);
    }
    ASSERT_FALSE(holds_command(out)) << out;
    std::erase(out, '\\');
    ASSERT_EQ(out, text);
  }
}

}  // namespace
}  // namespace proctor
