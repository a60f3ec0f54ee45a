#include "harness/process/frozen_time.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace proctor {
namespace {

// Waits until the thread is awake.
Clock::time_point known(const FrozenTime& frozen) {
  for (;;) {
    if (const auto now = frozen.now()) return *now;
    std::this_thread::sleep_for(FrozenTime::kAskAgain);
  }
}

TEST(FrozenTime, ATimeInWhichAllIsStoppedCountsForNothing) {
  constexpr Milliseconds kStopped{2'500};
  const pid_t child = fork();
  if (child == 0) {
    FrozenTime frozen;
    frozen.watch();
    const auto before = known(frozen);
    const auto real_before = Clock::now();
    raise(SIGSTOP);
    const auto counted = known(frozen) - before;
    const auto real = Clock::now() - real_before;
    // What was stopped is left out of one, and named by the other.
    const bool left_out = real >= kStopped && counted <= real - kStopped + Milliseconds(200);
    _exit(left_out && frozen.total() >= kStopped - Milliseconds(200) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(kStopped);
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(FrozenTime, AThreadThatSleepsIsNoFrozenTime) {
  FrozenTime frozen;
  frozen.watch();
  std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
  known(frozen);
  EXPECT_EQ(frozen.total(), Clock::duration(0));
}

}  // namespace
}  // namespace proctor
