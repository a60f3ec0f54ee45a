#include "harness/process/proc_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "harness/base/read_file.h"
#include "harness/base/unique_fd.h"
#include "harness/process/guard/tree.h"
#include "harness/process/recipe.h"

namespace proctor {
namespace {

TEST(ProcReader, ReadsFileContents) {
  ProcReader reader;
  const auto text = reader.read(getpid(), "cmdline");
  ASSERT_TRUE(text.ok()) << text.error().what;
  EXPECT_EQ(*text, *read_file("/proc/self/cmdline"));
}

TEST(ProcReader, ReportsMissingProcess) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  ProcReader reader;
  EXPECT_EQ(reader.read(child, "cmdline").error().sys_errno, ENOENT);
}

// If the patience is zero, each read is abandoned. It is not repeated while it is under way, and is freed once it
// has ended.
TEST(ProcReader, ReportsTimeoutOfLateRead) {
  ProcReader reader(Milliseconds(0));
  for (int i = 0; i < 1000; ++i) {
    const auto text = reader.read(getpid(), "maps");
    if (text) continue;
    EXPECT_EQ(text.error().sys_errno, ETIMEDOUT);
  }
}

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A child that runs `body` and is killed at the end.
class LeakedChild {
 public:
  template <typename Body>
  explicit LeakedChild(Body body) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    for (;;) pause();
  }
  ~LeakedChild() { end(); }
  LeakedChild(const LeakedChild&) = delete;
  LeakedChild& operator=(const LeakedChild&) = delete;

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

// Lowers the limit of open files, as a test may do to its runner.
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

std::vector<pid_t> pids_of(const std::vector<LeakedProcess>& leaked_processes) {
  std::vector<pid_t> pids;
  for (const LeakedProcess& leaked : leaked_processes) pids.push_back(leaked.pid);
  return pids;
}

class LeakedProcesses : public testing::Test {
 protected:
  ProcReader reader_;
};

TEST_F(LeakedProcesses, AProcessWhoseFirstThreadHasEndedIsAliveAsLongAsAnotherRuns) {
  const LeakedChild child([] {
    std::thread([] { pause(); }).detach();
    syscall(SYS_exit, 0);  // ends this thread alone
  });
  while (read_stat(child.pid())->state != 'Z') usleep(1000);
  EXPECT_FALSE(is_zombie_or_ended(child.pid()));
  EXPECT_THAT(pids_of(find_leaked_processes(reader_, getpid(), 0)), Contains(child.pid()));
  EXPECT_EQ(find_leader(getpid()), child.pid());
  kill(child.pid(), SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  EXPECT_TRUE(is_zombie_or_ended(child.pid()));
}

TEST_F(LeakedProcesses, OneWithoutACommandLineHasItsName) {
  const LeakedChild child([] {
    prctl(PR_SET_NAME, "first gone");
    std::thread([] { pause(); }).detach();
    syscall(SYS_exit, 0);  // ends this thread alone
  });
  while (read_stat(child.pid())->state != 'Z') usleep(1000);
  EXPECT_EQ(command_of(reader_, child.pid()), "[first gone]");
  EXPECT_EQ(*reader_.read(child.pid(), environ_file(child.pid())), *reader_.read(getpid(), "environ"));
}

TEST_F(LeakedProcesses, WhatCannotBeReadIsNotGone) {
  const LeakedChild child(do_nothing);
  const int children = guard::open_children(getpid());
  const NoOpenFiles none;
  EXPECT_FALSE(is_zombie_or_ended(child.pid()));
  const auto walked = find_leaked_processes(reader_, getpid(), 0);
  ASSERT_EQ(walked.size(), 1u);
  EXPECT_EQ(walked[0].pid, 0);
  EXPECT_THAT(walked[0].command, HasSubstr("EMFILE"));
  EXPECT_THAT(pids_of(find_leaked_processes(reader_, getpid(), 0, children)), ElementsAre(child.pid(), 0));
  EXPECT_EQ(find_leader(getpid(), children), child.pid());
  guard::signal_descendants(getpid(), SIGKILL, children);
  int status = 0;
  EXPECT_EQ(waitpid(child.pid(), &status, 0), child.pid());
  EXPECT_THAT(find_leaked_processes(reader_, getpid(), 0, children), IsEmpty())
      << "the list itself can be read";
  close(children);
}

TEST(OwnChildren, ListsOnlyLaterChildren) {
  const LeakedChild server([] {
    const pid_t parent = getpid();
    if (fork() != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // the parent had already ended
  });
  const OwnChildren children;
  EXPECT_THAT(list(children.now()), IsEmpty());
  LeakedChild later(do_nothing);
  EXPECT_THAT(list(children.now()), ElementsAre(later.pid()));
  const NoOpenFiles none;
  EXPECT_THAT(list(children.now()), ElementsAre(later.pid()));
  EXPECT_EQ(children.now().why_not_whole(), 0);
}

class SocketHolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    client_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(bind(listener.get(), raw, size), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(getsockname(listener.get(), raw, &size), 0);
    ASSERT_EQ(connect(client_.get(), raw, size), 0);
    server_ = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(server_);
  }

  static std::uint64_t inode_of(const UniqueFd& fd) {
    struct stat info {};
    EXPECT_EQ(fstat(fd.get(), &info), 0);
    return info.st_ino;
  }

  UniqueFd client_;
  UniqueFd server_;
};

TEST_F(SocketHolderTest, FindsPeerSocket) {
  EXPECT_EQ(inode_of_peer(server_.get()), inode_of(client_));
  EXPECT_EQ(inode_of_peer(client_.get()), inode_of(server_));
}

TEST_F(SocketHolderTest, ClosedSocketHasNoPeer) {
  client_.reset();
  EXPECT_EQ(inode_of_peer(server_.get()), 0u);
}

TEST_F(SocketHolderTest, FindsSocketOnlyInProcessTree) {
  const std::uint64_t inode = inode_of(client_);
  EXPECT_TRUE(tree_holds_socket(getppid(), inode));
  EXPECT_FALSE(tree_holds_socket(getppid(), inode_of(client_) + 1'000'000'000));
  EXPECT_FALSE(tree_holds_socket(getpid(), inode)) << "a process is no descendant of its own";
}

}  // namespace
}  // namespace proctor
