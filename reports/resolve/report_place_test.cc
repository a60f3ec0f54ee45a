#include "reports/resolve/report_place.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(ReportPlaceTest, AStampIsAMomentThatThereIs) {
  EXPECT_TRUE(is_utc_stamp("2026-01-31T12:00:00Z"));
  for (const char* text :
       {"", "2026-01-31", "2026-02-30T12:00:00Z", "2026-99-99T12:00:00Z", "2026-01-31T24:00:00Z",
        "2026-01-31 12:00:00Z", "2026-01-31T12:00:00", "2026-01-31T12:00:00.0Z"}) {
    EXPECT_FALSE(is_utc_stamp(text)) << text;
    EXPECT_EQ(unix_ms(text), 0) << text;
  }
  EXPECT_EQ(unix_ms("1970-01-02T00:00:01Z"), 86'401'000);
  EXPECT_EQ(unix_ms("2026-01-31T12:00:00Z"), 1'769'860'800'000);
}

}  // namespace
}  // namespace proctor
