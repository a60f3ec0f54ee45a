#include "harness/runner/record/process_handle.h"

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "harness/process/proc_reader.h"

namespace proctor {
namespace {

// Starts a child that waits for a signal. `wanted` is its pid, if set. Returns -1 with errno if that is refused.
pid_t waiting_child(pid_t wanted = 0) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  if (wanted != 0) {
    arguments.set_tid = reinterpret_cast<std::uint64_t>(&wanted);
    arguments.set_tid_size = 1;
  }
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid == 0) {
    for (;;) ::pause();
  }
  return pid;
}

int reap(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

TEST(ProcessHandle, OpensOnlyMatchingPidAndStartTime) {
  const pid_t child = waiting_child();
  ASSERT_GT(child, 0);
  const auto start = start_time_of(child);
  EXPECT_FALSE(ProcessHandle::open(child, start + 1));
  EXPECT_FALSE(ProcessHandle::open(child, 0));
  EXPECT_FALSE(ProcessHandle::open(0, 0));
  EXPECT_FALSE(ProcessHandle::open(-1, 1));
  const auto held = ProcessHandle::open(child, start);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->pid(), child);
  EXPECT_FALSE(held->has_ended());
  EXPECT_FALSE(held->wait_until_ended(Milliseconds(1)));
  EXPECT_TRUE(held->signal(SIGKILL).ok());
  EXPECT_TRUE(held->wait_until_ended(Milliseconds(60'000)));  // the process is a zombie now
  EXPECT_TRUE(held->has_ended());
  EXPECT_EQ(WTERMSIG(reap(child)), SIGKILL);
  EXPECT_TRUE(held->signal(SIGKILL).ok()) << "it has ended, which is what was wanted";
  EXPECT_FALSE(ProcessHandle::open(child, start));
}

// In a PID namespace without a mount of /proc, /proc shows the pids of the outer namespace.
TEST(ProcessHandle, RejectsProcOfAnotherPidNamespace) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
    const pid_t inner = ::fork();
    if (inner == 0) ::_exit(ProcessHandle::open(1, start_time_of(1)) ? 1 : 0);
    ::_exit(WEXITSTATUS(reap(inner)));
  }
  const int status = reap(child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no PID namespace can be made here";
  EXPECT_EQ(status, 0) << "process 1 of /proc is another one";
}

TEST(ProcessHandle, ProcessLivesWhileAnyThreadRuns) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] { ::pause(); }).detach();
    ::syscall(SYS_exit, 0);  // ends only this thread
  }
  while (read_stat(child)->state != 'Z') std::this_thread::yield();
  const auto held = ProcessHandle::open(child, start_time_of(child));
  ASSERT_TRUE(held);
  EXPECT_FALSE(held->has_ended());
  EXPECT_FALSE(held->wait_until_ended(Milliseconds(1)));
  EXPECT_TRUE(held->signal(SIGKILL).ok());
  EXPECT_TRUE(held->wait_until_ended(Milliseconds(60'000)));
  EXPECT_EQ(WTERMSIG(reap(child)), SIGKILL);
}

TEST(ProcessHandle, SignalNeverReachesReusedPid) {
  const pid_t child = waiting_child();
  ASSERT_GT(child, 0);
  const auto held = ProcessHandle::open(child, start_time_of(child));
  ASSERT_TRUE(held);
  ::kill(child, SIGKILL);
  reap(child);
  const pid_t next = waiting_child(child);
  if (next < 0) GTEST_SKIP() << "a pid cannot be chosen here, errno " << errno;
  ASSERT_EQ(next, child);
  EXPECT_TRUE(held->signal(SIGTERM).ok());
  EXPECT_EQ(::waitpid(next, nullptr, WNOHANG), 0) << "it was hit";
  ::kill(next, SIGKILL);
  EXPECT_EQ(WTERMSIG(reap(next)), SIGKILL) << "it was hit";
}

}  // namespace
}  // namespace proctor
