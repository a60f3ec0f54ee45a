// Tests help at any width, and messages about refused command lines. harness/e2e/manual.py checks the text of every
// command.
#include "harness/cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/base/words.h"
#include "harness/cli/shared_options.h"
#include "harness/cli/usage_errors.h"

namespace proctor::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HelpColumns, ComeFromVariableTerminalOrDefault) {
  EXPECT_EQ(help_columns("80", 200), 80u);
  EXPECT_EQ(help_columns(nullptr, 200), 200u);
  EXPECT_EQ(help_columns(nullptr, 0), 100u);
  for (const char* no_number : {"", "abc", "80x", "-80", "0", "99999999999999999999999"})
    EXPECT_EQ(help_columns(no_number, 90), 90u) << no_number;
}

TEST(HelpColumns, AreNeverFewerThanSixty) {
  EXPECT_EQ(help_columns("1", 0), 60u);
  EXPECT_EQ(help_columns(nullptr, 20), 60u);
}

// A command with an option of each type.
class Help : public ::testing::Test {
 protected:
  Help() {
    use_help_formatter(app_);
    command_ = app_.add_subcommand("toy", "Play with a toy");
    command_->add_option("RUN", run_, "Run directory")->type_name("RUN_DIR")->required();
    auto* junit =
        command_->add_option("--junit", text_, "Also write this file")->type_name("FILE")->group("Reports");
    command_->add_option("--action,-a", action_, "What to do: wait (default) or fail")
        ->type_name("ACTION")
        ->check(one_of({"wait", "fail", "other"}))
        ->group("Devices")
        ->excludes(junit);
    command_->add_option("--jobs", jobs_, "Cases to run at once")->type_name("N")->check(from_to(1, 10));
    command_->add_option("--count", jobs_, "How many")->type_name("N");
    command_->add_flag("--quiet", quiet_, "Show less");
    command_
        ->add_option("--long", text_,
                     std::string(40, 'x') + std::string(" and a text of several lines") +
                         " that goes on and on, so that it does not fit on one line")
        ->type_name("WITH-A-LONG-PLACEHOLDER");
  }

  std::string help(const char* columns) {
    ::setenv("COLUMNS", columns, 1);
    std::string text = command_->help("proctor", CLI::AppFormatMode::Normal);
    ::unsetenv("COLUMNS");
    return text;
  }

  // Returns the message for these words after "toy".
  std::string refused(std::vector<std::string> words) {
    words.insert(words.begin(), "toy");
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    try {
      app_.parse(reversed);
    } catch (const CLI::ParseError& error) {
      const Error why = usage_error(app_, error);
      EXPECT_EQ(why.kind, ErrorKind::kUsage);
      EXPECT_NE(why.hint, "");
      return why.message();
    }
    return "accepted";
  }

  CLI::App app_{"", "proctor"};
  CLI::App* command_ = nullptr;
  std::string run_;
  std::string text_;
  std::string action_;
  int jobs_ = 0;
  bool quiet_ = false;
};

TEST_F(Help, ShowsPlaceholdersAndOrderedGroups) {
  const std::string text = help("100");
  EXPECT_THAT(text, HasSubstr("Usage: proctor toy [OPTIONS] RUN_DIR\n"));
  EXPECT_THAT(text,
              HasSubstr("\nDevices:\n  -a, --action ACTION         What to do: wait (default) or fail\n"));
  EXPECT_LT(text.find("\nDevices:"), text.find("\nReports:"));
  for (const char* word : {"TEXT", "INT", "Excludes", "Needs", "{"}) EXPECT_THAT(text, Not(HasSubstr(word)));
}

TEST_F(Help, WrapsTextAndKeepsDescriptionColumn) {
  for (const std::size_t width : {60u, 80u, 100u, 200u}) {
    for (const std::string_view line : lines_of(help(std::to_string(width).c_str()))) {
      const bool has_a_long_word = line.find("xxx") != line.npos;  // a long word is not broken
      EXPECT_TRUE(has_a_long_word || line.size() <= width) << line;
    }
  }
  EXPECT_THAT(help("60"), HasSubstr("\n" + std::string(30, ' ') + "that goes on"));
}

TEST_F(Help, ShortAndLongHelpFlagsDiffer) {
  EXPECT_THROW(app_.parse("toy -h"), CLI::CallForAllHelp);
  EXPECT_THROW(app_.parse("toy --help"), CLI::CallForHelp);
}

TEST_F(Help, ErrorsAreCompleteSentences) {
  EXPECT_EQ(refused({}), "`proctor toy` needs RUN_DIR");
  EXPECT_EQ(refused({"a", "--jbos", "2"}), "`--jbos` is not an option of `proctor toy`");
  EXPECT_EQ(refused({"a", "b"}), "`proctor toy` takes no argument `b`");
  EXPECT_EQ(refused({"a", "--jobs", "0"}), "--jobs must be a whole number from 1 to 10 (got `0`)");
  EXPECT_EQ(refused({"a", "--action", "wiat"}), "--action must be wait, fail or other (got `wiat`)");
  EXPECT_EQ(refused({"a", "--count", "two"}), "--count must be a whole number (got `two`)");
  EXPECT_EQ(refused({"a", "--count", "1", "--count", "2"}), "--count takes one value (got 2)");
  EXPECT_EQ(refused({"a", "--count"}), "--count needs a value: N");
  EXPECT_EQ(refused({"a", "--quiet=maybe"}), "--quiet takes no value");
  EXPECT_EQ(refused({"a", "--action", "wait", "--junit", "x"}), "--junit cannot be combined with --action");
}

TEST(HelpText, EachCommandHasCommonOptionsAndExamples) {
  for (const char* command : {"run", "exec", "plan", "list"}) {
    const auto& common = help_of(command).common;
    EXPECT_GE(common.size(), 10u) << command;
    EXPECT_LE(common.size(), 18u) << command;
    EXPECT_GE(help_of(command).examples.size(), 2u) << command;
  }
  EXPECT_TRUE(help_of("no such command").examples.empty());
}

}  // namespace
}  // namespace proctor::cli
