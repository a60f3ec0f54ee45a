#include "harness/base/toml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/testing/mutations.h"

namespace proctor {
namespace {

using testing::HasSubstr;

// Returns "" if the text is valid TOML, otherwise the message.
std::string complaint(std::string_view text) {
  const auto parsed = parse_toml(text, "f.toml");
  if (parsed) return "";
  EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage) << text;
  return parsed.error().what;
}

std::string nested(std::string_view open, std::string_view close, int depth) {
  std::string text = "a = ";
  for (int i = 0; i < depth; ++i) text += open;
  if (open.ends_with("= ")) text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  return text + "\n";
}

TEST(Toml, ReportsLineOfMalformedInput) {
  for (const char* text : {"[.a]", "[[.a]]", "[=]", "[ . ]", "[a.]", "[a..b]", "[\n]", "[,]", "[", "[[",
                           "[[a]", "a", "a =", "a.", "a. = 1", "= 1", "a = [", "a = {", "a = {.b = 1}"}) {
    EXPECT_THAT(complaint(std::string("# first\n") + text), HasSubstr("f.toml:2: ")) << text;
  }
}

TEST(Toml, RejectsKeyWithTooManyDots) {
  std::string dots = "a";
  for (int i = 0; i < 1'000'000; ++i) dots += ".a";
  for (const std::string& text : {"[" + dots + "]", dots + " = 1", "x = {" + dots + " = 1}"}) {
    EXPECT_EQ(complaint("b = 1.5\n" + text + "\n"), "f.toml:2: a key has more than 32 dots");
  }
  EXPECT_NE(complaint(nested("[", "]", 100'000)), "");
  EXPECT_NE(complaint(nested("{a=", "}", 100'000)), "");
}

// Each bracket is within the limit of toml++, and each key within kMostDots. Only their sum exceeds a limit.
TEST(Toml, CountsDotsAndBracketsAsNesting) {
  const std::string key = "a.a.a.a.a.a.a.a.a.a";
  EXPECT_EQ(complaint(nested("{" + key + " = ", "}", 9)), "");
  for (const int depth : {11, 250, 100'000}) {
    EXPECT_EQ(complaint(nested("{" + key + " = ", "}", depth)),
              "f.toml:1: it has values within values, more than 100 deep");
  }
  EXPECT_EQ(complaint(nested("[", "]", 100)), "");
  EXPECT_EQ(complaint("x = '''\n]'''\n" + nested("[", "]", 101)),
            "f.toml:3: it has values within values, more than 100 deep");
}

// A multi-line string can end with up to two more quotes. They do not open another string.
TEST(Toml, QuotesAtStringEndHideNoKey) {
  std::string dots = "a";
  for (int i = 0; i < 1'000'000; ++i) dots += ".a";
  for (const std::string text : {"'''a''''", "'''a'''''", R"("""a"""")", R"(""""a""""")", "''", R"("")"}) {
    EXPECT_EQ(complaint("x = {b = " + text + ", " + dots + " = 1}\n"),
              "f.toml:1: a key has more than 32 dots")
        << text;
    EXPECT_EQ(complaint("x = [" + text + ", \"" + dots + "\"]\n"), "") << text;
  }
}

TEST(Toml, IgnoresDotsInStringsNumbersAndComments) {
  const std::string dots(100, '.');
  std::string numbers;
  for (int i = 0; i < 100; ++i) numbers += "1.5, ";
  for (const std::string& value :
       {"\"" + dots + "\"", "'" + dots + "'", "\"\"\"\n" + dots + "\"\n\"\"\"", "'''" + dots + "'\n'''",
        "1 # " + dots, "\"\\\"" + dots + "\"", "[" + numbers + "]"}) {
    EXPECT_EQ(complaint("a = " + value + "\nb = 2\n"), "") << value;
  }
}

// The text contains each construct of the language. After any mutation, it parses or the error has a line.
TEST(Toml, MutatedInputParsesOrReportsLine) {
  const std::string text =
      "\xEF\xBB\xBF# c\nt = true\ni = [ +1_0, 0x1F, -0.5e3, inf, nan, ]\n"
      "s = [\"\\u00e9\\n\", 'l', \"\"\"\nm\\\n \"\"\", '''l''']\n"
      "d = [1979-05-27T07:32:00Z, 1979-05-27, 07:32:00.9]\n[a.\"b c\".'d']\nx.y = {p = 1, q.r = "
      "[{}]}\n[[l]]\n[[l]]\n[l.m]\n";
  ASSERT_EQ(complaint(text), "");
  testing_support::for_each_mutation(text,
                                     std::string_view(".[]{}=,\"'#\\\n\r\t\0+-_09xTZe\x7F\xC2\xFF\xE2", 28),
                                     [](const std::string& mutant) {
                                       const std::string why = complaint(mutant);
                                       ASSERT_THAT(why, testing::MatchesRegex("(f.toml:[0-9]+: .+)?"));
                                     });
}

}  // namespace
}  // namespace proctor
