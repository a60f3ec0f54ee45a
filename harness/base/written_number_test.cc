#include "harness/base/written_number.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace proctor {
namespace {

TEST(WrittenNumber, ParsesThousandsSeparators) {
  for (const char* text : {"1204", "1.204", "1,204", "1'204", "1 204", "1_204",
                           "1\xC2\xA0"
                           "204",
                           "1\xE2\x80\xAF"
                           "204",
                           "+1204"})
    EXPECT_EQ(written_count(text), 1204) << text;
  EXPECT_EQ(written_count("12.345.678"), 12'345'678);
  EXPECT_EQ(written_count("1,23,45,678"), 12'345'678) << "as in India";
  EXPECT_EQ(written_count("-5"), -5);
  EXPECT_EQ(written_count("0"), 0);
}

TEST(WrittenNumber, RejectsIncompleteIntegers) {
  for (const char* text : {"", "x", "12x", "17.6", "1.2345", "1.204,5", "1.204.5", "1,204.678", ".204",
                           "1204.", "12345.678", "1e3", "9223372036854775808", "1..204"})
    EXPECT_EQ(written_count(text), std::nullopt) << text;
}

std::optional<double> figure_among(const std::string& text, const std::vector<std::string>& others = {}) {
  NumberForm form;
  form.see(text);
  for (const auto& other : others) form.see(other);
  return form.figure(text);
}

TEST(WrittenNumber, DetectsTheDecimalPoint) {
  EXPECT_EQ(figure_among("17.6"), 17.6);
  EXPECT_EQ(figure_among("17,6"), 17.6);
  EXPECT_EQ(figure_among("1.234,5"), 1234.5);
  EXPECT_EQ(figure_among("1,234.5"), 1234.5);
  EXPECT_EQ(figure_among("1.234.567"), 1'234'567);
  EXPECT_EQ(figure_among("-1,5e-03"), -0.0015);
  EXPECT_EQ(figure_among("1,234e+01"), 12.34);
  EXPECT_EQ(figure_among("0,123"), 0.123);
  EXPECT_EQ(figure_among("1234"), 1234);
  EXPECT_EQ(figure_among(".5"), 0.5);
  EXPECT_EQ(figure_among("1.234"), 1.234) << "as without a locale";
  EXPECT_EQ(figure_among("1.234", {"17,6"}), 1234);
  EXPECT_EQ(figure_among("1,234", {"17,6"}), 1.234);
  EXPECT_EQ(figure_among("1,234", {"17.6"}), 1234);
}

TEST(WrittenNumber, RejectsAmbiguousNumbers) {
  EXPECT_EQ(figure_among("1,234"), std::nullopt);
  EXPECT_EQ(figure_among("17.6", {"17,6"}), std::nullopt);
  for (const char* text : {"", "nan", "inf", "1.2.3", "1,2,3", "12 ns", "x", "-", "e5", "1e999"})
    EXPECT_EQ(figure_among(text), std::nullopt) << text;
}

}  // namespace
}  // namespace proctor
