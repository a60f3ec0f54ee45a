#include "harness/plan/exemptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::HasSubstr;

std::string entry(const std::string& check, const std::string& reason) {
  return "[[exempt]]\ncheck = \"" + check + "\"\nreason = \"" + reason + "\"\n";
}

TEST(Exemptions, AreReadByNameWithTheirReason) {
  const auto read = parse_exemptions("# none\n" + entry("visibility.xpu/A.B", "why"), "file.toml");
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().check, "visibility.xpu/A.B");
  EXPECT_EQ(read->front().reason, "why");
  EXPECT_TRUE(parse_exemptions("", "file.toml")->empty());
}

TEST(Exemptions, MistakesAreRefused) {
  const auto refusal = [](const std::string& text) {
    const auto read = parse_exemptions(text, "file.toml");
    return read ? std::string("accepted") : read.error().what;
  };
  EXPECT_THAT(refusal(entry("A.B", "")), HasSubstr("`reason`"));
  EXPECT_THAT(refusal("[[exempt]]\ncheck = \"A.B\"\n"), HasSubstr("reason"));
  EXPECT_THAT(refusal(entry("A.B", "x") + entry("A.B", "y")), HasSubstr("twice"));
  EXPECT_THAT(refusal("[[exemt]]\n"), HasSubstr("exemt"));
}

TEST(Exemptions, AreLimitedPerBackend) {
  std::string text;
  for (std::size_t i = 0; i < kMaxExemptions; ++i) text += entry("s.xpu/A.B" + std::to_string(i), "x");
  EXPECT_TRUE(parse_exemptions(text, "file.toml"));
  EXPECT_TRUE(parse_exemptions(text + entry("s.cuda/A.C", "x"), "file.toml"));
  const auto read = parse_exemptions(text + entry("t.xpu/A.C", "x"), "file.toml");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr("more than 5 checks of backend xpu"));
}

TEST(Exemptions, AreSelectedByBackend) {
  const auto all = parse_exemptions(entry("s.xpu/A.B", "x") + entry("s.cuda/A.B", "y"), "file.toml");
  ASSERT_TRUE(all) << all.error().what;
  const auto some = exemptions_of("cuda", *all);
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some.front().reason, "y");
}

// The test also covers the file that Proctor ships.
TEST(Exemptions, ShippedFileIsValid) {
  EXPECT_TRUE(load_exemptions(std::string(PROCTOR_SOURCE_DIR) + "/suites/selftest_exemptions.toml"));
}

}  // namespace
}  // namespace proctor
