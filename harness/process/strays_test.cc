#include "harness/process/strays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "harness/process/guard/tree.h"
#include "harness/process/own_children.h"

namespace proctor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A child that does `body` and is killed at the end.
class Child {
 public:
  template <typename Body>
  explicit Child(Body body) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    for (;;) pause();
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void end() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

void do_nothing() {}

// As a test may lower that of its runner.
class NoOpenFiles {
 public:
  NoOpenFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoOpenFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoOpenFiles(const NoOpenFiles&) = delete;
  NoOpenFiles& operator=(const NoOpenFiles&) = delete;

 private:
  rlimit before_{};
};

std::vector<pid_t> list(const guard::PidList& pids) { return {pids.begin(), pids.end()}; }

std::vector<pid_t> pids_of(const std::vector<Stray>& strays) {
  std::vector<pid_t> pids;
  for (const Stray& stray : strays) pids.push_back(stray.pid);
  return pids;
}

class Strays : public testing::Test {
 protected:
  ProcReader reader_;
};

TEST_F(Strays, AProcessWhoseFirstThreadHasEndedIsAliveAsLongAsAnotherRuns) {
  const Child child([] {
    std::thread([] { pause(); }).detach();
    syscall(SYS_exit, 0);  // of this thread alone
  });
  while (read_stat(child.pid())->state != 'Z') usleep(1000);
  EXPECT_FALSE(is_zombie_or_gone(child.pid()));
  EXPECT_THAT(pids_of(find_strays(reader_, getpid(), 0)), Contains(child.pid()));
  EXPECT_EQ(find_leader(getpid()), child.pid());
  kill(child.pid(), SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  EXPECT_TRUE(is_zombie_or_gone(child.pid()));
}

TEST_F(Strays, OneWithoutACommandLineHasItsName) {
  const Child child([] {
    prctl(PR_SET_NAME, "first gone");
    std::thread([] { pause(); }).detach();
    syscall(SYS_exit, 0);  // of this thread alone
  });
  while (read_stat(child.pid())->state != 'Z') usleep(1000);
  EXPECT_EQ(command_of(reader_, child.pid()), "[first gone]");
  EXPECT_EQ(*reader_.read(child.pid(), environ_file(child.pid())), *reader_.read(getpid(), "environ"));
}

TEST_F(Strays, WhatCannotBeReadIsNotGone) {
  const Child child(do_nothing);
  const int children = guard::open_children(getpid());
  const NoOpenFiles none;
  EXPECT_FALSE(is_zombie_or_gone(child.pid()));
  const auto walked = find_strays(reader_, getpid(), 0);
  ASSERT_EQ(walked.size(), 1u);
  EXPECT_EQ(walked[0].pid, 0);
  EXPECT_THAT(walked[0].command, HasSubstr("EMFILE"));
  EXPECT_THAT(pids_of(find_strays(reader_, getpid(), 0, children)), ElementsAre(child.pid(), 0));
  EXPECT_EQ(find_leader(getpid(), children), child.pid());
  guard::signal_descendants(getpid(), SIGKILL, children);
  int status = 0;
  EXPECT_EQ(waitpid(child.pid(), &status, 0), child.pid());
  EXPECT_THAT(find_strays(reader_, getpid(), 0, children), IsEmpty()) << "the list itself can be read";
  close(children);
}

TEST(OwnChildren, AreThoseThatCameLater) {
  const Child server([] {
    const pid_t parent = getpid();
    if (fork() != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // it was ended before that
  });
  const OwnChildren children;
  EXPECT_THAT(list(children.now()), IsEmpty());
  Child later(do_nothing);
  EXPECT_THAT(list(children.now()), ElementsAre(later.pid()));
  const NoOpenFiles none;
  EXPECT_THAT(list(children.now()), ElementsAre(later.pid()));
  EXPECT_EQ(children.now().why_not_whole(), 0);
}

}  // namespace
}  // namespace proctor
