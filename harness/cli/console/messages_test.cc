#include "harness/cli/console/messages.h"

#include <gtest/gtest.h>

namespace proctor::cli {
namespace {

const TextRow kHeadings = {"ID", "MODEL", "STATE"};
const std::vector<TextRow> kRows = {{"xpu:0000:03:00.0", "Intel Arc Pro B60, 2 tiles", "idle"},
                                    {"cuda:GPU-1", "", "held"}};

TEST(TextTable, AlignsColumnsUnderHeadings) {
  const std::string table =
      "ID                MODEL                       STATE\n"
      "xpu:0000:03:00.0  Intel Arc Pro B60, 2 tiles  idle\n"
      "cuda:GPU-1        -                           held\n";
  EXPECT_EQ(text_table(kHeadings, kRows, 0), table);
  EXPECT_EQ(text_table(kHeadings, kRows, 51), table);
}

TEST(TextTable, PrintsParagraphsWhenWiderThanTerminal) {
  EXPECT_EQ(text_table(kHeadings, kRows, 40),
            "xpu:0000:03:00.0\n"
            "  MODEL  Intel Arc Pro B60, 2 tiles\n"
            "  STATE  idle\n"
            "cuda:GPU-1\n"
            "  MODEL  -\n"
            "  STATE  held\n");
}

TEST(TextTable, EscapesAndTruncatesCellText) {
  EXPECT_EQ(text_table({"ID", "STATE"}, {{"a\x1b[31mb\x01\nc", "idle"}}, 0),
            "ID        STATE\n"
            "ab\\x01 c  idle\n");
  EXPECT_LT(text_table({"ID"}, {{std::string(1 << 20, 'x')}}, 0).size(), 300u);
}

}  // namespace

}  // namespace proctor::cli
