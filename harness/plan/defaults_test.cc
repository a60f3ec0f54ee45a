// The reference pages against what the program does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "harness/core/toml_reader.h"
#include "harness/plan/config_fixture.h"
#include "harness/plan/config_tables.h"
#include "harness/plan/kinds/all_kinds.h"

namespace proctor {
namespace {

using testing::HasSubstr;

// ---------------------------------------------------------------------------------------

TEST_F(ConfigTest, ExamplesOfTheReferencePageAreValidAndComplete) {
  std::string page(embedded_defaults());
  page = std::regex_replace(page, std::regex("(^|\n)#: "), "$1");
  const Result<Config> config = load(page, "", {}, "ci");
  ASSERT_TRUE(config) << config.error().what;
  const Result<toml::table> root = parse_toml(page, "page");
  ASSERT_TRUE(root);
  const std::map<std::string, const toml::table*> tables = {
      {"", &*root},
      {"run", root->at_path("run").as_table()},
      {"suite", root->at_path("suite.attention").as_table()},
      {"override", root->at_path("override[0]").as_table()},
      {"profile", root->at_path("profile.ci").as_table()}};
  for (const auto& [name, table] : tables) {
    ASSERT_NE(table, nullptr) << name;
    for (const std::string& key : config_keys(name)) {
      EXPECT_TRUE(table->contains(key)) << "`" << key << "` of [" << name << "] is not on the page";
    }
  }
}

// The table of docs/reference/config.md against the embedded file.
TEST(ConfigPage, StatesTheEmbeddedDefaults) {
  const Result<std::string> page =
      read_text_file(std::string(PROCTOR_SOURCE_DIR) + "/docs/reference/config.md");
  ASSERT_TRUE(page) << page.error().what;
  const Result<toml::table> root = parse_toml(embedded_defaults(), "defaults.toml");
  ASSERT_TRUE(root);
  const auto row = [&](const std::string& key, const toml::node& value) {
    return fmt::format("| `{}` | `{}` |", key, value_text(value));
  };
  int rows = 0;
  const auto expect_row = [&](const std::string& key, const toml::node& value) {
    EXPECT_THAT(*page, HasSubstr(row(key, value)));
    ++rows;
  };
  for (const auto& [key, value] : *(*root)["run"].as_table())
    expect_row("run." + std::string(key.str()), value);
  for (const auto& [key, value] : *(*root)["defaults"].as_table()) {
    if (!value.is_table()) {
      expect_row(std::string(key.str()), value);
      continue;
    }
    for (const auto& [inner, inner_value] : *value.as_table())
      expect_row(fmt::format("{}.{}", key.str(), inner.str()), inner_value);
  }
  const std::regex any_row("\\| `[a-z._]+` \\| `[^`]+` \\|");
  EXPECT_EQ(std::distance(std::sregex_iterator(page->begin(), page->end(), any_row), std::sregex_iterator()),
            rows)
      << "docs/reference/config.md states a default that the embedded file does not have";
}

TEST(ConfigPage, HasARowForEachKind) {
  const Result<std::string> page =
      read_text_file(std::string(PROCTOR_SOURCE_DIR) + "/docs/reference/config.md");
  ASSERT_TRUE(page) << page.error().what;
  for (const std::string& kind : kind_names()) EXPECT_THAT(*page, HasSubstr(fmt::format("\n| {} | ", kind)));
}

}  // namespace
}  // namespace proctor
