// The reference pages against what the program does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "harness/base/named_file.h"
#include "harness/base/toml_reader.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/plan/config_fixture.h"
#include "harness/plan/config_tables.h"

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
      {"group", root->at_path("group.licence").as_table()},
      {"skip", root->at_path("skip[0]").as_table()},
      {"profile", root->at_path("profile.ci").as_table()}};
  for (const auto& [name, table] : tables) {
    ASSERT_NE(table, nullptr) << name;
    for (const std::string& key : config_keys(name)) {
      EXPECT_TRUE(table->contains(key)) << "`" << key << "` of [" << name << "] is not on the page";
    }
  }
}

TEST(ConfigPage, HasARowForEachKind) {
  const Result<std::string> page =
      read_found_file(std::string(PROCTOR_SOURCE_DIR) + "/docs/reference/config.md");
  ASSERT_TRUE(page) << page.error().what;
  for (const std::string& kind : kind_names()) EXPECT_THAT(*page, HasSubstr(fmt::format("\n| {} | ", kind)));
}

}  // namespace
}  // namespace proctor
