#include "harness/process/fair_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "harness/base/temp_dir.h"
#include "harness/process/frozen_time.h"

namespace proctor {
namespace {

using testing::HasSubstr;

void pass_time(Milliseconds time) { std::this_thread::sleep_for(time); }

class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ == 0) {
      for (;;) pause();
    }
  }
  ~Child() {
    kill(pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status)) {  // a traced child reports stops first
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(FairTime, ExcludesWaitsForCpu) {
  TempDir directory;
  const std::string leaf = directory.string();
  const auto waited = [&leaf](int microseconds) {
    std::ofstream(leaf + "/cpu.pressure") << "some avg10=0.00 avg60=0.00 avg300=0.00 total=" << microseconds;
  };
  waited(0);
  const FrozenTime frozen;
  const FairTime fair(PressureGauge(leaf, 0), frozen);
  pass_time(Milliseconds(60));
  waited(10'000'000);
  EXPECT_GT(fair.left_of(Milliseconds(50)), Milliseconds(0)) << "it got no processor";
  waited(0);
  pass_time(Milliseconds(500));
  while (fair.left_of(Milliseconds(50)) == FrozenTime::kAskAgain) pass_time(Milliseconds(10));
  EXPECT_EQ(fair.left_of(Milliseconds(50)), Milliseconds(0));
}

TEST(FairTime, ExpiresAtTenTimesTheLimit) {
  TempDir directory;
  std::ofstream(directory.string() + "/cpu.pressure") << "some total=0";
  const FrozenTime frozen;
  const FairTime fair(PressureGauge(directory.string(), 0), frozen);
  std::ofstream(directory.string() + "/cpu.pressure") << "some total=999999999";
  Milliseconds left = fair.left_of(Milliseconds(10));
  EXPECT_GT(left, Milliseconds(0));
  const auto begin = Clock::now();
  while (left > Milliseconds(0) && Clock::now() - begin < std::chrono::minutes(1)) {
    pass_time(Milliseconds(10));
    left = fair.left_of(Milliseconds(10));
  }
  EXPECT_EQ(left, Milliseconds(0));
}

TEST(Patience, ExpiresForIdleProcess) {
  const Child idle;
  Patience patience;
  EXPECT_FALSE(patience.is_over(Milliseconds(20)));
  while (!patience.is_over(Milliseconds(20))) {
    pass_time(Milliseconds(5));
    patience.sample(idle.pid());
  }
}

TEST(Patience, CountsLongPauseAsOneSecond) {
  const Child idle;
  Patience patience;
  pass_time(Milliseconds(1'500));
  patience.sample(idle.pid());
  EXPECT_FALSE(patience.is_over(Milliseconds(1'200))) << "nobody looked";
}

TEST(HeldBy, ReportsStoppedOrTracedProcess) {
  const Child child;
  EXPECT_EQ(held_by(child.pid()), "");
  kill(child.pid(), SIGSTOP);
  waitpid(child.pid(), nullptr, WUNTRACED);
  EXPECT_EQ(held_by(child.pid()), "it is stopped");
  kill(child.pid(), SIGCONT);
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr), 0);
  EXPECT_EQ(held_by(child.pid()), "process " + std::to_string(getpid()) + " traces it");
}

TEST(KillWait, ExpiresIfRemainingProcessesSleep) {
  const Child asleep;
  KillWait wait(Milliseconds(20));
  while (!wait.is_over({asleep.pid()})) pass_time(Milliseconds(5));
}

// Waits until the thread is awake.
Clock::time_point known(const FrozenTime& frozen) {
  for (;;) {
    if (const auto now = frozen.now()) return *now;
    std::this_thread::sleep_for(FrozenTime::kAskAgain);
  }
}

TEST(FrozenTime, ExcludesTimeWhileProcessIsStopped) {
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
    // now() leaves out the stopped time, and total() contains it.
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

TEST(FrozenTime, SleepIsNotFrozenTime) {
  FrozenTime frozen;
  frozen.watch();
  std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
  known(frozen);
  EXPECT_EQ(frozen.total(), Clock::duration(0));
}

}  // namespace
}  // namespace proctor
