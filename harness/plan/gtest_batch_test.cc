#include "harness/plan/gtest_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;

TEST(GtestBatchTest, TheListenerAnnouncesItself) {
  const std::string announcement = R"({"v":1,"event":"listener","name":"gtest"})";
  EXPECT_TRUE(announces_gtest_listener({announcement}));
  EXPECT_TRUE(announces_gtest_listener({"noise", announcement}));
  for (const char* other :
       {"", "[]", "noise", R"({"v":1,"event":"case","case":"listener"})", R"({"v":1,"event":"listener"})",
        R"({"v":1,"event":"listener","name":"other"})", R"({"v":1,"event":7,"name":"gtest"})"}) {
    EXPECT_FALSE(announces_gtest_listener({other})) << other;
  }
  EXPECT_FALSE(announces_gtest_listener({}));
}

TEST(GtestBatchTest, TheCommandNamesAFileInsteadOfACase) {
  EXPECT_THAT(gtest_batch_command({"./t", "--own", "--gtest_filter=A.*", "--gtest_filter=A.B"}, "/f"),
              ElementsAre("./t", "--own", "--gtest_filter=A.*", "--gtest_flagfile=/f"));
  EXPECT_THAT(gtest_batch_command({"./t", "--gtest_fail_fast", "--gtest_filter=A.B"}, "/f"),
              ElementsAre("./t", "--gtest_flagfile=/f"));
}

TEST(GtestBatchTest, TheFileHasAllFiltersInOneLine) {
  EXPECT_EQ(gtest_batch_flags({{"./t", "--gtest_filter=A.B"}, {"./t", "--gtest_filter=Of/C.D?/1"}}),
            "--gtest_filter=A.B:Of/C.D?/1\n--gtest_repeat=1\n--gtest_output=\n");
}

}  // namespace
}  // namespace proctor
