#include "harness/process/spawn.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

namespace proctor {
namespace {

class CasePidsTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(CasePidsTest, PidsAreUniqueAndValid) {
  const CasePids pids(GetParam());
  std::vector<bool> taken(GetParam(), false);
  std::uint64_t without = 0;
  for (std::uint64_t guard = 1; guard < GetParam(); ++guard) {
    const std::uint64_t pid = pids.of(guard);
    if (pid == 0) {
      ++without;
      continue;
    }
    ASSERT_GT(pid, 1U);
    ASSERT_LT(pid, GetParam());
    ASSERT_FALSE(taken[pid]) << guard;
    taken[pid] = true;
  }
  EXPECT_LE(without, 1U) << "one would have the pid of the guard";
}

// The child processes of a case get the pids that follow.
TEST_P(CasePidsTest, ConsecutiveGuardsGetDistantPids) {
  constexpr std::uint64_t kGuards = 64;
  const CasePids pids(GetParam());
  std::vector<std::uint64_t> found;
  for (std::uint64_t guard = 200; guard < 200 + kGuards; ++guard) found.push_back(pids.of(guard));
  std::ranges::sort(found);
  for (std::size_t i = 1; i < found.size(); ++i)
    EXPECT_GE(found[i] - found[i - 1], GetParam() / kGuards / 3) << found[i];
}

INSTANTIATE_TEST_SUITE_P(Limits, CasePidsTest, testing::Values(32'768, 98'304, 99'999, 4'194'304));

TEST(CasePids, RequireKernelPidLimit) {
  EXPECT_EQ(CasePids().of(7), 0U);
  EXPECT_EQ(CasePids(0).of(7), 0U);
  EXPECT_NE(case_pids_here().of(7), 0U);
}

constexpr uid_t kUserOfMaps = 65534;
constexpr useconds_t kLateBy = 20'000;

enum MapsWritten { kWritten, kRefused, kNoNamespace };

// A process in its own user namespace. Its files first belong to root, as during an exec.
[[noreturn]] void become_dumpable_late(int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_DUMPABLE, 0);
  (void)!write(ready, "", 1);
  usleep(kLateBy);
  prctl(PR_SET_DUMPABLE, 1);
  for (;;) pause();
}

MapsWritten write_maps_of_a_late_process() {
  int ready[2];
  if (pipe(ready) != 0) return kNoNamespace;
  const auto pid =
      static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (pid < 0) return kNoNamespace;
  if (pid == 0) become_dumpable_late(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) return kNoNamespace;
  const auto error = write_id_maps(pid);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return error ? kRefused : kWritten;
}

// The test runs as another user, because root may write the maps at any time.
TEST(IdMaps, WriteWaitsUntilProcessIsDumpable) {
  const pid_t user = fork();
  if (user == 0) {
    if (getuid() == 0 && (setresgid(kUserOfMaps, kUserOfMaps, kUserOfMaps) != 0 ||
                          setresuid(kUserOfMaps, kUserOfMaps, kUserOfMaps) != 0))
      _exit(kNoNamespace);
    _exit(write_maps_of_a_late_process());
  }
  int status = 0;
  waitpid(user, &status, 0);
  if (WEXITSTATUS(status) == kNoNamespace) GTEST_SKIP() << "needs:user namespaces";
  EXPECT_EQ(WEXITSTATUS(status), kWritten);
}

}  // namespace
}  // namespace proctor
