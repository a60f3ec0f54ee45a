#include "harness/base/result.h"

#include <gtest/gtest.h>

#include <cstring>

namespace proctor {
namespace {

TEST(SystemNames, ReturnsErrnoAndSignalNames) {
  EXPECT_EQ(errno_name(2), "ENOENT");
  EXPECT_EQ(errno_words(2), "No such file or directory");
  EXPECT_EQ(errno_name(9999), "9999");
  EXPECT_EQ(signal_name(9), "SIGKILL");
  EXPECT_EQ(signal_name(11), "SIGSEGV");
  EXPECT_EQ(signal_name(64), "");
}

#if defined(__GLIBC__)
TEST(SystemNames, MatchesGlibcNames) {
  for (int err = 1; err < 133; ++err) {
    const std::string ours = errno_name(err);
    if (ours.front() == 'E') {
      EXPECT_EQ(ours, ::strerrorname_np(err));
    }
  }
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(signal_name(signal), std::string("SIG") + ::sigabbrev_np(signal));
  }
}
#endif

}  // namespace
}  // namespace proctor
