#include "harness/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "harness/base/json.h"
#include "harness/base/words.h"
#include "harness/testing/child.h"

namespace proctor {
namespace {

// An oracle that is independent of clean_text(): RFC 3629's table of well-formed sequences, and XML 1.0's
// Char.
bool is_xml_utf8(const std::string& text) {
  const auto in = [](unsigned char c, int low, int high) { return c >= low && c <= high; };
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) {
      return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : static_cast<unsigned char>(0);
    };
    const auto tail = [&](std::size_t k) { return in(at(k), 0x80, 0xbf); };
    const unsigned char c = at(0);
    if (c == 0x9 || c == 0xa || c == 0xd || in(c, 0x20, 0x7f)) {
      i += 1;
    } else if (in(c, 0xc2, 0xdf) && tail(1)) {
      i += 2;
    } else if (c == 0xef && at(1) == 0xbf &&
               in(at(2), 0xbe, 0xbf)) {  // NOLINT(bugprone-branch-clone): a table
      return false;                      // U+FFFE, U+FFFF
    } else if (tail(2) && ((c == 0xe0 && in(at(1), 0xa0, 0xbf)) || (in(c, 0xe1, 0xec) && tail(1)) ||
                           (c == 0xed && in(at(1), 0x80, 0x9f)) || (in(c, 0xee, 0xef) && tail(1)))) {
      i += 3;
    } else if (tail(2) && tail(3) &&
               ((c == 0xf0 && in(at(1), 0x90, 0xbf)) || (in(c, 0xf1, 0xf3) && tail(1)) ||
                (c == 0xf4 && in(at(1), 0x80, 0x8f)))) {
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

TEST(CleanText, EscapesEveryInvalidByte) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    const std::string cleaned = clean_text(text);
    EXPECT_TRUE(is_xml_utf8(cleaned)) << byte;
    const bool allowed = byte == '\t' || byte == '\n' || byte == '\r' || (byte >= 0x20 && byte < 0x80);
    char visible[8];
    std::snprintf(visible, sizeof visible, "\\x%02X", static_cast<unsigned>(byte));
    EXPECT_EQ(cleaned, allowed ? text : visible);
  }
}

TEST(CleanText, KeepsValidTextOfEveryLength) {
  const std::string text =
      "a \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbd \xf0\x90\x80\x80 "
      "\xf4\x8f\xbf\xbf \x7f";
  EXPECT_EQ(clean_text(text), text);
}

TEST(CleanText, EscapesInvalidUtf8) {
  EXPECT_EQ(clean_text("\xed\xa0\x80"), "\\xED\\xA0\\x80");  // lone high surrogate
  EXPECT_EQ(clean_text("\xed\xbf\xbf"), "\\xED\\xBF\\xBF");  // lone low surrogate
  EXPECT_EQ(clean_text("\xef\xbf\xbe \xef\xbf\xbf"),
            "\\xEF\\xBF\\xBE \\xEF\\xBF\\xBF");     // not valid characters in XML
  EXPECT_EQ(clean_text("\xc0\xaf"), "\\xC0\\xAF");  // overlong
  EXPECT_EQ(clean_text("\xe0\x80\x80"), "\\xE0\\x80\\x80");
  EXPECT_EQ(clean_text("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(clean_text("\xe2\x82"), "\\xE2\\x82");                    // truncated at the end
  EXPECT_EQ(clean_text("\xf0\x9f\x98x"), "\\xF0\\x9F\\x98x");         // truncated in the middle
  // resynchronises at the next valid sequence
  EXPECT_EQ(clean_text("\xe2\x82\xe2\x82\xac"), "\\xE2\\x82\xe2\x82\xac");
}

TEST(CleanText, RemovesCompleteAnsiSequencesOnly) {
  EXPECT_EQ(clean_text("\x1b[1;31mred\x1b[0m"), "red");
  EXPECT_EQ(clean_text("\x1b]0;title\a"
                       "a\x1b]8;;http://x\x1b\\b"),
            "ab");
  EXPECT_EQ(clean_text("\x1b[38;5"), "\\x1B[38;5");
  EXPECT_EQ(clean_text("\x1b]0;never ends"), "\\x1B]0;never ends");
  EXPECT_EQ(clean_text("\x1b]0;line\nnext\a"), "\\x1B]0;line\nnext\\x07");
  EXPECT_EQ(clean_text("\x1b"), "\\x1B");
  EXPECT_EQ(clean_text("\x1b\x1b[m[m"), "\\x1B[m");
}

TEST(CleanText, RandomBytesBecomeValidAndStable) {
  std::mt19937 random(20260822);
  const std::string spice("\x1b[]m;\a\\\xed\xa0\x80\xf0\x9f\xef\xbf\xbe\xc3\x00 a\n\r", 21);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t length = random() % 24; length > 0; --length) {
      text += random() % 2 ? spice[random() % spice.size()] : static_cast<char>(random() % 256);
    }
    const std::string cleaned = clean_text(text);
    ASSERT_TRUE(is_xml_utf8(cleaned)) << ::testing::PrintToString(text);
    ASSERT_EQ(clean_text(cleaned), cleaned);
    ASSERT_NO_THROW((void)nlohmann::json(cleaned).dump());
  }
}

TEST(NearMiss, FindsTypingMistakes) {
  const std::vector<std::string> options = {"--retries", "--repeat", "--timeout", "--shard", "xpu", "cuda"};
  EXPECT_EQ(near_miss("--retires", options), "--retries");
  EXPECT_EQ(near_miss("--time_out", options), "--timeout");
  EXPECT_EQ(near_miss("--Timeout", options), "--timeout");
  EXPECT_EQ(near_miss("__shard", options), "--shard");
  EXPECT_EQ(near_miss("xpuu", options), "xpu");
  EXPECT_EQ(near_miss("cdua", options), "cuda");
}

TEST(NearMiss, ReturnsEmptyIfNothingIsSimilar) {
  const std::vector<std::string> options = {"xpu", "cuda"};
  EXPECT_EQ(near_miss("rocm", options), "");
  EXPECT_EQ(near_miss("abcuda", options), "cuda");  // distance 2 of length 6
  EXPECT_EQ(near_miss("abccuda", options), "");     // distance 3 of length 7
  EXPECT_EQ(near_miss("x", options), "");
  EXPECT_EQ(near_miss("", options), "");
  EXPECT_EQ(near_miss("xpu", {}), "");
}

// A simple matcher with exponential time, as an oracle.
bool glob_oracle(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return glob_oracle(pattern.substr(1), text) || (!text.empty() && glob_oracle(pattern, text.substr(1)));
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         glob_oracle(pattern.substr(1), text.substr(1));
}

TEST(Glob, MatchesReferenceOnAllShortStrings) {
  const auto words = [](std::string_view alphabet, std::size_t longest) {
    std::vector<std::string> all = {""};
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].size() == longest) continue;
      for (const char c : alphabet) all.push_back(all[i] + c);
    }
    return all;
  };
  const auto texts = words("ab", 5);
  for (const std::string& pattern : words("ab*?", 5)) {
    for (const std::string& text : texts) {
      ASSERT_EQ(glob_match(pattern, text), glob_oracle(pattern, text)) << pattern << " on " << text;
    }
  }
}

TEST(Glob, TreatsBracketsLiterallyAndAvoidsBacktracking) {
  EXPECT_TRUE(glob_match("*test_big[fp16-128]", "attention/t.py::test_big[fp16-128]"));
  EXPECT_FALSE(glob_match("[ab]", "a"));
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*b", std::string(20'000, 'a')));
}

std::string read_by_shell(const std::string& quoted) {
  return testing_support::run_child({"sh", "-c", "printf %s " + quoted}).out;
}

TEST(ShellQuote, RoundTripsThroughShell) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  for (const std::string& word : {std::string("plain-1.2/x:y=z"), std::string("a b"), std::string("it's"),
                                  std::string("$HOME `id` \\ \"q\" !x ~ * # ; & | \n end"), std::string("''"),
                                  std::string("~root"), std::string("test[1-2]"), every_byte}) {
    EXPECT_EQ(read_by_shell(shell_quote(word)), word);
  }
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("visibility.xpu/DeviceMask.Row_1a"), "visibility.xpu/DeviceMask.Row_1a");
}

TEST(HiddenControls, EscapesHiddenControlsOnly) {
  EXPECT_EQ(without_hidden_controls("a\u009b31mb"), "a\\xC2\\x9B31mb");
  EXPECT_EQ(without_hidden_controls("\u202egp.exe\u202c"), "\\xE2\\x80\\xAEgp.exe\\xE2\\x80\\xAC");
  EXPECT_EQ(without_hidden_controls("\u2066\u061c\u200f\u2028"),
            "\\xE2\\x81\\xA6\\xD8\\x9C\\xE2\\x80\\x8F\\xE2\\x80\\xA8");
  for (const std::string same :
       {"\x1b[31mred\x1b[0m\n", "gr\u00fcn \u05d0\u05d1 \u4e2d \U0001F600", "\xff\xc2", "\u00a0\u2027\u202f"})
    EXPECT_EQ(without_hidden_controls(same), same);
}

TEST(ShellWords, ParsesQuotesLikeShell) {
  const auto words = shell_words(R"(-k 'a b'  "--x=\"c\"" '' d\ e)");
  ASSERT_TRUE(words) << words.error().what;
  EXPECT_EQ(*words, (std::vector<std::string>{"-k", "a b", "--x=\"c\"", "", "d e"}));
  EXPECT_EQ(*shell_words("a=$'\\377\\001\\047x\\134' $"), (std::vector<std::string>{"a=\xff\x01'x\\", "$"}));
  EXPECT_FALSE(shell_words("$'\\377"));
  EXPECT_TRUE(shell_words("  ")->empty());
  EXPECT_FALSE(shell_words("it's"));
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Text, TrimsBothEnds) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed("\"a\" ", " \""), "a");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Text, ChangesCaseOfAsciiOnly) {
  EXPECT_EQ(lower_case("A-Z [\xc3\x84]"), "a-z [\xc3\x84]");
  EXPECT_EQ(upper_case("a-z {\xc3\xa4}"), "A-Z {\xc3\xa4}");
}

TEST(Text, JoinsEmptyParts) {
  EXPECT_EQ(joined({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(joined({"", "b", ""}, ","), ",b,");
  EXPECT_EQ(joined({}, ","), "");
}

TEST(Text, SplitsAtEverySeparator) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("a,", ','), ElementsAre("a", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, SplitsIntoLines) {
  EXPECT_THAT(lines_of("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines_of("a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of(""), IsEmpty());
}

}  // namespace
}  // namespace proctor
