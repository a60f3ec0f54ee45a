#include "harness/base/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Returns whether this process has a child, including a zombie.
bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

class Child : public testing::Test {
 protected:
  void TearDown() override { EXPECT_FALSE(has_children()); }

  // Returns the stdout of a shell script.
  std::string said(const std::string& script, ChildSpec spec = {}) const {
    const std::string file = (directory_ / "said").string();
    const UniqueFd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    spec.argv = {"/bin/sh", "-c", script};
    spec.fds = {0, out.get(), 2};
    auto child = ChildProcess::start(spec);
    if (!child) return child.error().what;
    child->wait();
    return read_file_or_empty(file);
  }

  std::string script(const std::string& text, fs::perms permissions = fs::perms::owner_all) const {
    std::ofstream(directory_ / "script") << text;
    fs::permissions(directory_ / "script", permissions);
    return (directory_ / "script").string();
  }

  const TempDir directory_;
};

TEST_F(Child, ReportsExitCodeOrSignal) {
  for (int i = 0; i < 20; ++i) {
    auto exits = ChildProcess::start({.argv = {"sh", "-c", "exit 3"}});
    ASSERT_TRUE(exits) << exits.error().what;
    EXPECT_EQ(exits->wait().exit_code, 3);
  }
  auto dies = ChildProcess::start({.argv = {"sh", "-c", "kill -9 $$"}});
  ASSERT_TRUE(dies);
  const ChildEnd end = dies->wait();
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.exit_code, -1);
}

TEST_F(Child, DestructorKillsProcess) {
  auto child = ChildProcess::start({.argv = {"sleep", "1000"}});
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->wait_until(Clock::now()));
}

TEST_F(Child, ReportsReasonOfStartFailure) {
  const auto error = [](const std::string& program) {
    const auto child = ChildProcess::start({.argv = {program}});
    return child ? "it was started" : child.error().what;
  };
  EXPECT_THAT(error("no-such-program"), HasSubstr("find the program no-such-program: No such file"));
  EXPECT_THAT(error("/dev/null"), HasSubstr("find the program /dev/null: Permission denied"));
  EXPECT_THAT(error(script("", fs::perms::owner_read)), HasSubstr("/script: Permission denied"));
  EXPECT_THAT(error(script("no program")), HasSubstr("/script: Exec format error"));
  EXPECT_THAT(error(script("#!/no/such/interpreter\n")), HasSubstr("/script: No such file"));
  EXPECT_THAT(error(""), HasSubstr("No such file"));
}

// An exit handler of this process would write to this pipe.
int exits_of_others[2];

TEST_F(Child, FailedStartRunsNoExitHandlers) {
  ASSERT_EQ(::pipe2(exits_of_others, O_CLOEXEC | O_NONBLOCK), 0);
  static const pid_t kSelf = ::getpid();
  std::atexit([] {
    if (::getpid() != kSelf) (void)!::write(exits_of_others[1], "x", 1);
  });
  EXPECT_FALSE(ChildProcess::start({.argv = {script("no program")}}));
  char byte;
  EXPECT_EQ(::read(exits_of_others[0], &byte, 1), -1);
}

TEST_F(Child, InheritsNoOtherDescriptors) {
  const UniqueFd plain(::open("/dev/null", O_RDONLY));  // not closed by an exec
  const UniqueFd far(::fcntl(plain.get(), F_DUPFD, 200));
  EXPECT_EQ(said("ls /proc/self/fd"), "0\n1\n2\n3\n");  // 3 is the descriptor of ls
}

TEST_F(Child, ReceivesDescriptorsOfSpec) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  // The numbers overlap: placing them one after another would overwrite some of them.
  auto child =
      ChildProcess::start({.argv = {"sh", "-c", "echo there >&4; test -e /proc/self/fd/3 && echo 3 >&4"},
                           .fds = {-1, 2, 1, 999, out.get()}});
  ASSERT_TRUE(child) << child.error().what;
  child->wait();
  out.reset();
  char text[64];
  const ssize_t got = ::read(in.get(), text, sizeof text);
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))), "there\n");
}

TEST_F(Child, StartsWithDefaultSignals) {
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, &before);
  const auto handler = ::signal(SIGPIPE, SIG_IGN);
  const std::string signals = said("grep -E 'Sig(Blk|Ign)' /proc/self/status");
  ::signal(SIGPIPE, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(signals, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(Child, StartKeepsSignalMaskOfCaller) {
  sigset_t before, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  said("true");
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < NSIG; ++signal)
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

TEST_F(Child, StartsInGivenDirectory) {
  EXPECT_EQ(said("pwd -P", {.directory = directory_.string()}),
            fs::canonical(directory_.path()).string() + "\n");
  EXPECT_THAT(said("true", {.directory = "/no/such"}), HasSubstr("start /bin/sh: No such file"));
}

TEST_F(Child, ReceivesChangedEnvironment) {
  ::setenv("PROCTOR_A", "1", 1);
  ::setenv("PROCTOR_AB", "2", 1);
  const auto changed = environment_with({"PROCTOR_A", "PROCTOR_C=3=4", "PROCTOR_C=5"});
  EXPECT_THAT(changed, Contains("PROCTOR_AB=2"));
  EXPECT_THAT(changed, Not(Contains("PROCTOR_A=1")));
  EXPECT_THAT(changed, Not(Contains("PROCTOR_C=3=4")));
  EXPECT_EQ(said("echo $PROCTOR_AB$PROCTOR_C", {.env = changed}), "25\n");
}

TEST_F(Child, FileSizeIsLimited) {
  const std::string file = (directory_ / "large").string();
  said("exec head -c 100000 /dev/zero > " + file, {.file_limit = 5000});
  EXPECT_EQ(fs::file_size(file), 5000u);
}

// Old kernels and some containers have no pidfds. A seccomp filter applies to the thread that installs it.
TEST_F(Child, WorksWithoutPidfds) {
  std::thread([] {
    sock_filter refuse_pidfds[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, refuse_pidfds};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) GTEST_SKIP() << "no seccomp here";
    auto child = ChildProcess::start({.argv = {"sh", "-c", "exit 3"}});
    ASSERT_TRUE(child) << child.error().what;
    EXPECT_EQ(child->end_fd(), -1);
    EXPECT_EQ(child->wait().exit_code, 3);
  }).join();
}

TEST_F(Child, WaitAcceptsAlreadyReapedProcess) {
  auto child = ChildProcess::start({.argv = {"true"}});
  ASSERT_TRUE(child);
  ASSERT_EQ(::waitpid(child->pid(), nullptr, 0), child->pid());
  EXPECT_EQ(child->wait().exit_code, -1);
}

TEST(FindProgram, FindsExecutableFileInPath) {
  const TempDir directory;
  fs::create_directories(directory / "a/tool");  // a directory is not a program
  fs::create_directory(directory / "b");
  std::ofstream(directory / "b/tool") << "";
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", ((directory / "a").string() + ":" + (directory / "b").string()).c_str(), 1);
  const auto none = find_program("tool");
  fs::permissions(directory / "b/tool", fs::perms::owner_all);
  const auto found = find_program("tool");
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().sys_errno, EACCES);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (directory / "b/tool").string());
}

}  // namespace
}  // namespace proctor
