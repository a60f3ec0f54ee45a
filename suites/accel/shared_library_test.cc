#include "suites/accel/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <array>

#include "suites/accel/latch_keeper.h"

namespace proctor {
namespace {

struct Api {
  double (*cosine)(double);
  double (*nothing)(double);
  double (*sine)(double);
};
constexpr std::array kSymbols{symbol<&Api::cosine>("cos"), symbol<&Api::nothing>("cosine_of_nothing"),
                              symbol<&Api::sine>("sin")};

TEST(SharedLibrary, FindsFunctionsUntilFirstMissing) {
  const SharedLibrary library("libm.so.6");
  ASSERT_TRUE(library.loaded()) << library.error();
  EXPECT_THAT(library.path(), testing::EndsWith("/libm.so.6"));
  Api api{};
  EXPECT_STREQ(library.find_all(kSymbols, api), "cosine_of_nothing");
  EXPECT_THAT(SharedLibrary::last_error(), testing::HasSubstr("undefined symbol: cosine_of_nothing"));
  ASSERT_NE(api.cosine, nullptr);
  EXPECT_EQ(api.cosine(0), 1);
  EXPECT_EQ(api.nothing, nullptr);
  EXPECT_EQ(api.sine, nullptr);
  EXPECT_TRUE(library.find(kSymbols[2], api));
  EXPECT_EQ(api.sine(0), 0);
}

TEST(SharedLibrary, ReportsLoadError) {
  const SharedLibrary library("libnothing.so.1");
  EXPECT_FALSE(library.loaded());
  EXPECT_THAT(library.error(), testing::StartsWith("libnothing.so.1: cannot open shared object file"));
}

}  // namespace
}  // namespace proctor

namespace proctor::accel {
namespace {

TEST(LatchKeeper, OpensAndReportsLatchLeftClosed) {
  std::uint32_t word = 0;
  LatchKeeper keeper(word, std::chrono::milliseconds(1));
  std::atomic_ref(word).wait(0);
  EXPECT_NONFATAL_FAILURE(keeper.open(), "waits for the latch");
  keeper.open();  // the failure is reported once
}

TEST(LatchKeeper, IgnoresLatchOpenedInTime) {
  std::uint32_t word = 0;
  {
    LatchKeeper keeper(word);
    keeper.open();
  }
  EXPECT_EQ(word, 1U);
}

}  // namespace
}  // namespace proctor::accel
