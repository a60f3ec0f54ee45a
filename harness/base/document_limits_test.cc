#include "harness/base/document_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json.h"

namespace proctor {
namespace {

using testing::HasSubstr;

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string nested(std::string_view open, std::string_view close, std::size_t depth) {
  return repeated(open, depth) + "1" + repeated(close, depth);
}

TEST(DocumentLimits, RejectsNestingBeyondLimit) {
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}"), std::pair(" [ ", " ] "),
                                    std::pair("[\"]]}}\\\"]\",", "]"), std::pair("{\"]\":", "}")}) {
    EXPECT_EQ(beyond_json_limits(nested(open, close, kMostNesting)), "") << open;
    EXPECT_FALSE(parse_json(nested(open, close, kMostNesting)).is_discarded()) << open;
    EXPECT_THAT(beyond_json_limits(nested(open, close, kMostNesting + 1)), HasSubstr("more than 100 deep"))
        << open;
    EXPECT_TRUE(parse_json(nested(open, close, kMostNesting + 1)).is_discarded()) << open;
  }
  EXPECT_TRUE(parse_json(repeated("[", 1'000'000)).is_discarded());
  EXPECT_TRUE(parse_json(repeated("{\"a\":[", 1'000'000)).is_discarded());
}

TEST(DocumentLimits, IgnoresBracketsInStringsAndSiblings) {
  const std::string text = repeated("[", 1000) + R"(\")" + repeated("{", 1000);
  EXPECT_EQ(parse_json("[\"" + text + "\"]").size(), 1u);
  EXPECT_EQ(parse_json("[" + repeated("[],", 10'000) + "{}]").size(), 10'001u);
  EXPECT_EQ(parse_json(R"({"\\":1,")" + text + R"(":2})").size(), 2u);
}

// The parsed values need many times the memory of their text.
TEST(DocumentLimits, RejectsTooManyValues) {
  std::string many = "[";
  many.reserve(43'000'000);
  for (int i = 0; i < 20'000'000; ++i) many += "1,";
  EXPECT_EQ(beyond_json_limits(many + "1]"), "it has more than 20000000 values");
  EXPECT_EQ(beyond_json_limits("[\"" + many + "\"]"), "");
  EXPECT_EQ(beyond_json_limits(many.substr(0, 1'000'000)), "");
}

// The parser must report invalid JSON, however its brackets are counted.
TEST(DocumentLimits, RejectsInvalidJson) {
  const std::string deep = repeated("[", 200'000);
  for (const std::string& text :
       {std::string(), std::string("\""), std::string("\\"), std::string("\"\\"), repeated("]", 1000) + deep,
        "'" + deep, "\"" + deep, "\\\"" + deep, "[\"a\"\"" + deep, "\xEF\xBB\xBF\"" + deep, deep + "\""})
    EXPECT_TRUE(parse_json(text).is_discarded()) << text.substr(0, 20);
  EXPECT_EQ(parse_json("\xEF\xBB\xBF[]"), nlohmann::json::array());
}

}  // namespace
}  // namespace proctor
