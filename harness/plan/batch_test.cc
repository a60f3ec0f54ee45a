#include "harness/plan/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace proctor {
namespace {

using ::testing::HasSubstr;

TEST(Batch, ParserReadsEachPart) {
  const struct {
    const char* text;
    ProcessChoice want;
  } rows[] = {
      {"case", {.unit = "case"}},
      {"file", {.unit = "file"}},
      {"suite,verify:off", {.unit = "suite", .verify = 0}},
      {"batch:1", {.unit = "suite", .batch = 1}},
      {"batch:100000", {.unit = "suite", .batch = kMostInBatch}},
      {"batch:auto,verify:0.5%", {.unit = "suite", .batch = kAutoBatch, .verify = 0.5}},
      {"verify:100%", {.verify = kWholeShare}},
  };
  const std::regex form(process_form());
  for (const auto& row : rows) {
    const auto choice = parse_process(row.text, "--process");
    ASSERT_TRUE(choice) << row.text << ": " << choice.error().what;
    EXPECT_EQ(*choice, row.want) << row.text;
    EXPECT_TRUE(std::regex_match(row.text, form)) << row.text;
  }
}

TEST(Batch, ErrorNamesThePart) {
  const struct {
    const char* text;
    const char* hint;
  } rows[] = {
      {"", "case, file, suite, batch:auto"},
      {"fiel", "Did you mean `file`?"},
      {"5", "case, file, suite, batch:auto"},
      {"batch:0", "`case`"},
      {"batch:100001", "`case`"},
      {"batch:x", "`case`"},
      {"batch:3,suite", "`case`"},
      {"case,file", "case, file, suite"},
      {"verify:2", "verify:2%"},
      {"verify:-1%", "verify:2%"},
      {"verify:2%,suite", "verify:2%"},
      {"batch", "case, file, suite, batch:auto"},
  };
  const std::regex form(process_form());
  for (const auto& row : rows) {
    const auto choice = parse_process(row.text, "`process`");
    ASSERT_FALSE(choice) << row.text;
    EXPECT_THAT(choice.error().what, HasSubstr("`process` " + std::string(row.text))) << row.text;
    EXPECT_THAT(choice.error().hint, HasSubstr(row.hint)) << row.text;
    EXPECT_FALSE(std::regex_match(row.text, form)) << row.text;
  }
  EXPECT_THAT(parse_process("suite,verify:101%", "--process").error().what,
              HasSubstr("--process verify:101%"));
}

TEST(Batch, MissingPartKeepsPreviousValue) {
  Suite suite;
  suite.process = "file";
  choose_process({.verify = 50}, suite);
  EXPECT_EQ(suite.process, "file");
  EXPECT_FALSE(suite.process_chosen);
  EXPECT_EQ(suite.verify, 50);
  choose_process({.unit = "suite", .batch = 7}, suite);
  EXPECT_EQ(suite.process, "suite");
  EXPECT_EQ(suite.batch, 7);
  EXPECT_TRUE(suite.process_chosen);
  EXPECT_EQ(suite.verify, 50);
  choose_process({.unit = "case"}, suite);
  EXPECT_EQ(suite.batch, kNoBatchLimit) << "a unit has no limit of another one";
}

TEST(Batch, AutomaticSizeDependsOnSlots) {
  EXPECT_EQ(batch_size(kNoBatchLimit, 1000, 4), 1000U);
  EXPECT_EQ(batch_size(5, 1000, 4), 5U);
  EXPECT_EQ(batch_size(5, 3, 4), 3U);
  EXPECT_EQ(batch_size(kAutoBatch, 800, 4), 100U);
  EXPECT_EQ(batch_size(kAutoBatch, 50, 4), 16U);
  EXPECT_EQ(batch_size(kAutoBatch, 100'000, 1), 500U);
}

}  // namespace
}  // namespace proctor
