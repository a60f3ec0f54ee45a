#include "harness/process/contained_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/base/unique_fd.h"
#include "harness/process/capture.h"
#include "harness/process/process_fixture.h"
#include "harness/process/recipe.h"

namespace proctor {
namespace {

using testing::HasSubstr;
using testing::Optional;

TEST_P(ContainedProcessTest, ReportsExitCodeAndSignalOfLeader) {
  EXPECT_THAT(run(shell("exit 7")).exit_code, Optional(7));
  EXPECT_THAT(run(shell("kill -SEGV $$")).exit_signal, Optional(SIGSEGV));
  // If the command were PID 1 of a namespace, the first would appear as signal 11, and the second would have
  // no effect.
  EXPECT_THAT(run(shell("kill -ABRT $$")).exit_signal, Optional(SIGABRT));
  EXPECT_THAT(run(shell("kill -TERM $$")).exit_signal, Optional(SIGTERM));
}

TEST_P(ContainedProcessTest, SpawnFailureReportsStepAndErrno) {
  ProcessSpec missing = shell("");
  missing.argv = {"/nonexistent/program"};
  ProcessEnd end = run(missing);
  ASSERT_EQ(end.cause, EndCause::kSpawnFailed);
  EXPECT_EQ(end.spawn_error->step, "exec");
  EXPECT_EQ(end.spawn_error->err, ENOENT);

  ProcessSpec directory = shell("");
  directory.argv = {"/tmp"};
  end = run(directory);
  ASSERT_EQ(end.cause, EndCause::kSpawnFailed);
  EXPECT_EQ(end.spawn_error->err, EACCES);

  const std::string broken = directory_ + "/broken";
  std::ofstream(broken) << "neither a binary nor a script\n";
  chmod(broken.c_str(), 0755);
  ProcessSpec no_format = shell("");
  no_format.argv = {broken};
  end = run(no_format);
  ASSERT_EQ(end.cause, EndCause::kSpawnFailed);
  EXPECT_EQ(end.spawn_error->err, ENOEXEC);

  ProcessSpec searched = shell("");
  searched.argv = {"no-such-program"};
  end = run(searched);
  ASSERT_EQ(end.cause, EndCause::kSpawnFailed);
  EXPECT_EQ(end.spawn_error->err, ENOENT);

  ProcessSpec nowhere = shell("exit 0");
  nowhere.directory = "/nonexistent";
  end = run(nowhere);
  ASSERT_EQ(end.cause, EndCause::kSpawnFailed);
  EXPECT_EQ(end.spawn_error->step, "chdir");
}

TEST_P(ContainedProcessTest, OutputIncludesCapturedFiles) {
  const std::string file = directory_ + "/captured";
  ProcessSpec spec = shell("echo printed; echo kept > " + file + ".out; mkfifo " + file + ".fifo; ln -s " +
                           file + ".out " + file + ".link; kill -KILL $$");
  spec.captured_in = {
      {Stream::kErr, file + ".link"}, {Stream::kErr, file + ".fifo"}, {Stream::kOut, file + ".out"}};
  const ProcessEnd end = run(spec);
  EXPECT_THAT(end.exit_signal, Optional(SIGKILL));
  EXPECT_EQ(end.output.stdout_tail, "printed\nkept\n");
  EXPECT_EQ(end.output.stderr_tail, "");
  for (const char* ending : {".link", ".fifo", ".out"})
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(file + ending))) << ending;
}

TEST_P(ContainedProcessTest, KeepsEndOfLongCapturedOutput) {
  const std::string file = directory_ + "/captured";
  ProcessSpec spec = shell("head -c 5000000 /dev/zero | tr '\\0' x > " + file);
  spec.captured_in = {{Stream::kOut, file}};
  spec.log_path = directory_ + "/log";
  const ProcessEnd end = run(spec);
  EXPECT_LT(end.output.bytes, kLogPartBytes + 1000);
  std::ifstream log(spec.log_path);
  std::string line;
  std::getline(log, line);
  EXPECT_THAT(line, HasSubstr("[805696 bytes of captured output are left out here]"));
}

TEST_P(ContainedProcessTest, RejectsArgumentsWithNulByte) {
  using namespace std::string_literals;
  ProcessSpec argument = shell("exit 0\0; exit 1"s);
  ProcessSpec variable = shell("exit 0");
  variable.env.push_back("A=1\0B=2"s);
  ProcessSpec directory = shell("exit 0");
  directory.directory = "/\0nowhere"s;
  for (const ProcessSpec& spec : {argument, variable, directory}) {
    const ProcessEnd end = run(spec);
    ASSERT_EQ(end.cause, EndCause::kSpawnFailed);
    EXPECT_EQ(end.spawn_error->err, EINVAL);
  }
}

// PATH is searched as execvp does.
TEST_P(ContainedProcessTest, SearchesCommandInPath) {
  std::ofstream(directory_ + "/tool") << "#!/bin/sh\necho here\n";
  chmod((directory_ + "/tool").c_str(), 0755);
  const auto said_with = [&](const std::vector<std::string>& env, const std::string& command) {
    ProcessSpec spec = shell("");
    spec.argv = {command};
    spec.env = env;
    spec.directory = directory_;
    spec.keep_stdout = true;
    const ProcessEnd end = run(spec);
    return end.spawn_error ? "errno " + std::to_string(end.spawn_error->err) : end.kept_stdout;
  };
  const std::string nowhere = "errno " + std::to_string(ENOENT);
  EXPECT_EQ(said_with({"PATH=/nowhere:" + directory_}, "tool"), "here\n");
  for (const char* current : {"PATH=", "PATH=:/nowhere", "PATH=/nowhere:", "PATH=/nowhere::/none"})
    EXPECT_EQ(said_with({current}, "tool"), "here\n") << current;
  for (const char* other : {"PATH=/nowhere", "PATH=/", "OTHER=1"})
    EXPECT_EQ(said_with({other}, "tool"), nowhere) << other;
  EXPECT_EQ(said_with({"PATH="}, ""), nowhere);
  EXPECT_EQ(said_with({}, "true"), "") << "found without PATH";
}

// A truncated path would be the path of another program.
TEST_P(ContainedProcessTest, RejectsTooLongPath) {
  std::string slashes(4095 - directory_.size() - std::string("/tool").size(), '/');
  std::ofstream(directory_ + "/tool") << "#!/bin/sh\n";
  chmod((directory_ + "/tool").c_str(), 0755);
  ProcessSpec spec = shell("");
  spec.argv = {"tool-of-others"};
  spec.env = {"PATH=" + slashes + directory_};
  const ProcessEnd end = run(spec);
  ASSERT_EQ(end.cause, EndCause::kSpawnFailed);
  EXPECT_EQ(end.spawn_error->err, ENAMETOOLONG);
  spec.env = {"PATH=" + slashes + directory_ + ":" + directory_};
  std::filesystem::copy_file(directory_ + "/tool", directory_ + "/tool-of-others");
  EXPECT_THAT(run(spec).exit_code, Optional(0)) << "the search goes on";
}

TEST_P(ContainedProcessTest, ReportsBusyExecutableAfterRetries) {
  const std::string path = directory_ + "/busy";
  std::filesystem::copy_file("/bin/true", path);
  const UniqueFd writer(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ProcessSpec spec = shell("");
  spec.argv = {path};
  const ProcessEnd end = run(spec);
  ASSERT_EQ(end.cause, EndCause::kSpawnFailed);
  EXPECT_EQ(end.spawn_error->err, ETXTBSY);
}

TEST_P(ContainedProcessTest, Exit127IsNotSpawnFailure) {
  const ProcessEnd end = run(shell("exit 127"));
  EXPECT_EQ(end.cause, EndCause::kExited);
  EXPECT_THAT(end.exit_code, Optional(127));
}

TEST_P(ContainedProcessTest, StartsWithCleanSignalsAndDescriptors) {
  const auto old_alarm = signal(SIGALRM, SIG_IGN);
  const auto old_pipe = signal(SIGPIPE, SIG_IGN);
  ProcessSpec spec = shell("cat; ls /proc/self/fd | tr '\\n' ' '; grep -E 'Sig(Ign|Blk)' /proc/self/status");
  spec.keep_stdout = true;
  const ProcessEnd end = run(spec);
  signal(SIGALRM, old_alarm);
  signal(SIGPIPE, old_pipe);
  EXPECT_THAT(end.exit_code, Optional(0));
  // `ls` itself holds the fourth: the directory that it lists.
  EXPECT_EQ(end.kept_stdout, "0 1 2 3 SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

// The lease is the write end of a FIFO. Its reader gets end-of-file exactly when no process holds the lease.
TEST_P(ContainedProcessTest, ProcessTreeHoldsLeases) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  UniqueFd held(open(fifo.c_str(), O_WRONLY | O_CLOEXEC));
  boost::asio::io_context io;
  std::optional<ProcessEnd> end;
  std::shared_ptr<ContainedProcess> process;
  ProcessSpec spec = shell("test -e /proc/self/fd/6 && echo has it >&$PROCTOR_EVENTS_FD; exec sleep 100");
  spec.events = true;
  spec.leases = {held.get()};
  bool held_by_the_case = false;
  spec.on_event_line = [&](std::string_view) {
    held.reset();
    held_by_the_case = !reads_eof(reader.get(), 0);
    process->stop(SIGKILL, Milliseconds(0));
  };
  process = ContainedProcess::start(io, *containment_, spec, [&](ProcessEnd e) { end = std::move(e); });
  io.run();
  EXPECT_EQ(end->cause, EndCause::kStopped);
  EXPECT_TRUE(held_by_the_case);
  EXPECT_TRUE(reads_eof(reader.get(), 0)) << "nobody is left";
}

TEST_P(ContainedProcessTest, AppliesRequestedUmask) {
  ProcessSpec spec = shell("umask");
  spec.keep_stdout = true;
  spec.umask = 027;
  EXPECT_EQ(run(spec).kept_stdout, "0027\n");
}

TEST_P(ContainedProcessTest, RaisesButNeverLowersCoreLimit) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  ProcessSpec spec = shell("ulimit -Sc; ulimit -Hc");
  spec.keep_stdout = true;
  for (const rlim_t hard : {rlim_t{4096}, rlim_t{1024}}) {  // sh counts blocks of 512 bytes
    const rlimit none{0, hard};
    if (setrlimit(RLIMIT_CORE, &none) != 0) GTEST_SKIP() << "needs: a hard limit for cores";
    spec.core_limit = 2048;
    EXPECT_EQ(run(spec).kept_stdout, hard == 4096 ? "4\n8\n" : "2\n2\n");
    spec.core_limit = 0;
    EXPECT_EQ(run(spec).kept_stdout, hard == 4096 ? "0\n8\n" : "0\n2\n");
  }
  setrlimit(RLIMIT_CORE, &before);  // fails without the permission to raise the limit
}

TEST_P(ContainedProcessTest, LeaderExitEndsLeakedProcesses) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  constexpr const char* kLeaking[] = {
      "sleep 1000 &",                                    // silent, holds the pipes
      "sleep 1000 >/dev/null 2>&1 &",                    // silent, without the pipes
      "(while :; do echo chatter; sleep 0.01; done) &",  // output must not extend the window
      "(setsid sh -c 'trap \"\" TERM; (sleep 1000 >/dev/null 2>&1 &)' &);"  // daemon
  };
  for (const char* leaked : kLeaking) {
    const ProcessEnd end = run(shell(std::string("exec 9>") + fifo + "; " + leaked + " sleep 0.05; exit 0"));
    EXPECT_EQ(end.cause, EndCause::kExited) << leaked;
    EXPECT_THAT(end.exit_code, Optional(0)) << leaked;
    ASSERT_FALSE(end.termination.leaked_processes.empty()) << leaked;
    EXPECT_TRUE(reads_eof(reader.get(), 0)) << leaked;
  }
}

TEST_P(ContainedProcessTest, EndsTreeAfterAttackOnGuard) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ProcessSpec spec =
      unconfined("exec 9>" + fifo + "; (trap '' TERM; sleep 1000) & kill -9 $PPID; sleep 1000");
  spec.limits.timeout = Milliseconds(1'000);
  spec.limits.grace = Milliseconds(100);
  const ProcessEnd killed = run(spec);
  EXPECT_EQ(killed.cause, EndCause::kGuardLost);
  EXPECT_TRUE(reads_eof(reader.get(), 0));

  ProcessSpec stop = unconfined("exec 9>" + fifo + "; sleep 1000 & kill -STOP $PPID; echo up; sleep 1000");
  stop.limits.timeout = Milliseconds(200);
  stop.limits.grace = Milliseconds(100);
  EXPECT_EQ(run_past_up(stop).cause, EndCause::kTimeout);
  EXPECT_TRUE(reads_eof(reader.get(), 0));
}

// The verdict is reported, and the process that would kill the remaining processes is dead.
TEST_P(ContainedProcessTest, RunnerEndsProcessThatKillsGuard) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const ProcessEnd end = run(unconfined(
      "exec 9>" + fifo + "; leader=$$; guard=$PPID; " +
      "(setsid sh -c 'trap \"\" TERM; while kill -0 '$leader'; do sleep 0.01; done; kill -9 '$guard'; "
      "sleep 1000' 2>/dev/null &); exit 0"));
  EXPECT_EQ(end.cause, EndCause::kExited);
  EXPECT_THAT(end.exit_code, Optional(0));
  EXPECT_EQ(end.termination.guard_lost, "it was killed by signal 9");
  EXPECT_FALSE(end.termination.leaked_processes.empty());
  EXPECT_FALSE(end.termination.unkillable);
  EXPECT_TRUE(reads_eof(reader.get(), 0));
}

// A test of the same user may lower the limit of open files of its guard and its runner. This class forks a
// process that is the runner and can never raise the limit again. Failures in it fail the test.
class RunnerWithoutFilesTest : public ContainedProcessTest {
 protected:
  template <typename Body>
  void in_a_runner(Body body) {
    const pid_t runner = fork();
    if (runner == 0) {
      (void)containment_.release();  // the containment of the parent
      drop_right_to_raise_limits();
      auto opened = Containment::open(GetParam(), "test-" + std::to_string(getpid()));
      EXPECT_TRUE(opened.ok());
      if (opened) {
        containment_ = *std::move(opened);
        body();
        containment_.reset();
      }
      fflush(nullptr);
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(runner, &status, 0);
    EXPECT_EQ(status, 0);
  }

  // The case has already lowered the limit of its guard, and leaves a daemon with a child behind.
  ProcessSpec takes_files(const std::string& fifo, const std::string& then) {
    ProcessSpec spec = shell("exec 9>" + fifo +
                             "; (setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' >/dev/null 2>&1 &); "
                             "prlimit --pid $PPID --nofile=0 && echo now >&$PROCTOR_EVENTS_FD; " +
                             then);
    spec.events = true;
    spec.on_event_line = [](std::string_view) {
      const rlimit none{0, 0};
      setrlimit(RLIMIT_NOFILE, &none);
    };
    return spec;
  }

 private:
  static void drop_right_to_raise_limits() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (syscall(SYS_capget, &header, data) != 0) return;
    for (auto* set : {&data[0].effective, &data[0].permitted}) *set &= ~(1U << CAP_SYS_RESOURCE);
    syscall(SYS_capset, &header, data);
  }
};

TEST_P(RunnerWithoutFilesTest, ReportsAndEndsLeakedProcesses) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  in_a_runner([&] {
    const ProcessEnd end = run(takes_files(fifo, "exit 0"));
    EXPECT_EQ(end.cause, EndCause::kExited);
    EXPECT_THAT(end.exit_code, Optional(0));
    EXPECT_FALSE(end.termination.leaked_processes.empty());
    EXPECT_FALSE(end.termination.unkillable);
    EXPECT_EQ(end.termination.guard_lost, "") << "it still hears and obeys";
  });
  EXPECT_TRUE(reads_eof(reader.get(), 0));
}

TEST_P(RunnerWithoutFilesTest, StillReportsTimeout) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  in_a_runner([&] {
    ProcessSpec spec = takes_files(fifo, "sleep 1000");
    spec.limits.timeout = Milliseconds(1'000);
    spec.limits.grace = Milliseconds(100);
    const ProcessEnd end = run(spec);
    EXPECT_EQ(end.cause, EndCause::kTimeout);
    EXPECT_FALSE(end.termination.unkillable);
  });
  EXPECT_TRUE(reads_eof(reader.get(), 0));
}

// Every process that can be found is killed. It cannot be proven that no other process has the containment
// id.
TEST_P(RunnerWithoutFilesTest, LostGuardReportsUnreapableProcesses) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  in_a_runner([&] {
    ProcessSpec spec = takes_files(fifo, "kill -9 $PPID; sleep 1000");
    spec.reach = Reach::kMachine;  // otherwise the case cannot kill its guard
    spec.limits.timeout = Milliseconds(2'000);
    spec.limits.grace = Milliseconds(100);
    spec.reap = Milliseconds(1'000);
    const ProcessEnd end = run(spec);
    EXPECT_EQ(end.cause, EndCause::kGuardLost);
    EXPECT_TRUE(end.termination.unkillable);
    EXPECT_THAT(end.termination.guard_lost, HasSubstr("/proc cannot be read"));
  });
  EXPECT_TRUE(reads_eof(reader.get(), 0));
}

INSTANTIATE_TEST_SUITE_P(Layers, RunnerWithoutFilesTest, testing::ValuesIn(kAllLayers), layer_name);

// A read of the command line of this process blocks. Its file is served by its child, which can be killed.
TEST_P(ContainedProcessTest, LockedProcessMemoryDoesNotBlockRunner) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "misbehaving";
  if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "needs: FUSE as root";
  ProcessSpec spec = shell("(exec " + program + " mmap-stuck) & wait");
  spec.limits.timeout = Milliseconds(1'000);
  spec.limits.grace = Milliseconds(100);
  spec.keep_stdout = true;
  ProcessEnd end;
  do {
    end = run(spec);
    spec.limits.timeout = *spec.limits.timeout * 2;
  } while (end.cause == EndCause::kTimeout && end.kept_stdout.find("stuck\n") == std::string::npos);
  if (end.cause == EndCause::kExited) GTEST_SKIP() << "needs: mounts of its own";
  EXPECT_EQ(end.cause, EndCause::kTimeout);
  EXPECT_FALSE(end.termination.unkillable);
  std::vector<std::string> commands;
  for (const LeakedProcess& leaked : end.termination.leaked_processes) commands.push_back(leaked.command);
  EXPECT_THAT(commands, testing::Contains("[misbehaving]"));
}

// The runner is started as in `server & exec proctor ...`.
TEST_P(ContainedProcessTest, SparesProcessesStartedBeforeContainment) {
  containment_.reset();
  const pid_t server = fork();
  if (server == 0) {
    for (;;) pause();
  }
  auto opened = Containment::open(GetParam(), "test-" + std::to_string(getpid()) + "-server");
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  containment_ = *std::move(opened);
  ProcessSpec spec = shell("kill -9 $PPID; sleep 1000");
  spec.limits.timeout = Milliseconds(1'000);
  spec.limits.grace = Milliseconds(100);
  const ProcessEnd end = run(spec);
  for (const LeakedProcess& leaked : end.termination.leaked_processes) EXPECT_NE(leaked.pid, server);
  containment_->recipe().unfinished = true;
  EXPECT_TRUE(containment_->end_rest(Milliseconds(5'000)).empty());
  EXPECT_EQ(waitpid(server, nullptr, WNOHANG), 0) << "it is alive";
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
}

// Each SIGCONT is followed by a SIGSTOP. Either the guard is fast enough, or the runner kills the case and
// the guard.
TEST_P(ContainedProcessTest, EndsCaseWithRepeatedlyStoppedGuard) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ProcessSpec spec = unconfined("exec 9>" + fifo + "; trap '' TERM; guard=$PPID; " +
                                "(while :; do kill -STOP $guard; done) & echo up; while :; do sleep 1; done");
  spec.limits.timeout = Milliseconds(500);
  spec.limits.grace = Milliseconds(100);
  const ProcessEnd end = run_past_up(spec);
  EXPECT_EQ(end.cause, EndCause::kTimeout);
  EXPECT_FALSE(end.termination.unkillable);
  EXPECT_TRUE(reads_eof(reader.get(), 0));
}

// The guard is silent and not stopped or traced, as on a machine that has no CPU for it.
TEST_P(ContainedProcessTest, WaitsForGuardWithoutCpuTime) {
  const auto mount = cgroup2_mount();
  const std::string group = mount.value_or("") + "/frozen-guard-" + std::to_string(getpid());
  if (!mount || mkdir(group.c_str(), 0755) != 0) GTEST_SKIP() << "needs: a writable cgroup2";
  ProcessSpec spec = shell("exec sleep 1000");
  spec.limits.timeout = Milliseconds(100);
  std::thread thaws;
  spec.on_limit = [&](int guard, const std::function<void()>& done) {
    std::ofstream(group + "/cgroup.procs") << guard;
    std::ofstream(group + "/cgroup.freeze") << 1;
    thaws = std::thread([&group] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2'500));  // longer than two checks
      std::ofstream(group + "/cgroup.freeze") << 0;
    });
    done();
  };
  const ProcessEnd end = run(spec);
  thaws.join();
  EXPECT_EQ(rmdir(group.c_str()), 0) << "a process is left in it";
  EXPECT_EQ(end.cause, EndCause::kTimeout);
  EXPECT_EQ(end.termination.guard_lost, "");
  EXPECT_GE(end.guard_late, Milliseconds(1'000));
}

// The pid of the next process shows how many processes the probe started.
TEST_P(ContainedProcessTest, SessionProbesContainmentOnce) {
  const std::string known = directory_ + "/known";
  const auto info = containment_->info();
  const auto processes_of_probe = [&] {
    containment_.reset();
    auto opened = Containment::open(GetParam(), "test-" + std::to_string(getpid()) + "-session", known);
    EXPECT_TRUE(opened.ok());
    containment_ = *std::move(opened);
    EXPECT_EQ(containment_->info().not_guaranteed, info.not_guaranteed);
    EXPECT_EQ(containment_->info().signals, info.signals);
    const int processes = containment_->recipe().next_case;
    EXPECT_THAT(run(shell("exit 7")).exit_code, Optional(7));
    return processes;
  };
  EXPECT_GT(processes_of_probe(), 0);
  EXPECT_EQ(processes_of_probe(), 0);
  std::ofstream(known) << "other surroundings\n" << to_string(GetParam()) << " 0 0 0 0\n";
  EXPECT_GT(processes_of_probe(), 0) << "the file is of another session";
  EXPECT_EQ(processes_of_probe(), 0) << "the new result is in the file";
}

TEST_P(ContainedProcessTest, SetsUniqueContainmentMarkPerProcess) {
  ProcessSpec spec = shell("echo $PROCTOR_CONTAINMENT");
  spec.env.push_back("PROCTOR_CONTAINMENT=another/1");
  spec.keep_stdout = true;
  const std::string first = run(spec).kept_stdout;
  const std::string second = run(spec).kept_stdout;
  EXPECT_THAT(first, testing::StartsWith("test-" + std::to_string(getpid()) + "/"));
  EXPECT_NE(first, second);
}

TEST_P(ContainedProcessTest, EventLinesArriveInOrderAndBounded) {
  ProcessSpec spec = shell(
      "echo one >&$PROCTOR_EVENTS_FD; head -c 70000 /dev/zero | tr '\\0' x >&$PROCTOR_EVENTS_FD; "
      "echo >&$PROCTOR_EVENTS_FD; printf last >&$PROCTOR_EVENTS_FD");
  spec.events = true;
  std::vector<std::string> lines;
  spec.on_event_line = [&](std::string_view line) { lines.emplace_back(line); };
  const ProcessEnd end = run(spec);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "one");
  EXPECT_EQ(lines[1].size(), 64U * 1024);
  EXPECT_EQ(lines[2], "last");
  EXPECT_EQ(end.events_too_long, 1U);
}

TEST_P(ContainedProcessTest, LimitsLogAndCountsDroppedBytes) {
  ProcessSpec spec = shell("head -c 33554432 /dev/zero; echo end");
  spec.log_path = directory_ + "/flood.log";
  const ProcessEnd end = run(spec);
  EXPECT_THAT(end.exit_code, Optional(0));
  EXPECT_EQ(end.output.bytes, 33554432U + 4);
  EXPECT_GT(end.output.dropped_bytes, 16U * 1024 * 1024);
  EXPECT_LT(std::filesystem::file_size(spec.log_path), 13U * 1024 * 1024);
  EXPECT_THAT(end.output.stdout_tail.substr(end.output.stdout_tail.size() - 4), "end\n");
}

TEST_P(ContainedProcessTest, WaitsForExitAfterStdoutCloses) {
  const ProcessEnd end = run(shell("exec >&- 2>&-; sleep 0.3; exit 4"));
  EXPECT_EQ(end.cause, EndCause::kExited);
  EXPECT_THAT(end.exit_code, Optional(4));
}

TEST_P(ContainedProcessTest, StopForwardsSignalAndSecondStopKills) {
  boost::asio::io_context io;
  std::optional<ProcessEnd> end;
  std::shared_ptr<ContainedProcess> process;
  ProcessSpec spec = shell("trap '' INT; echo deaf >&$PROCTOR_EVENTS_FD; while :; do sleep 0.05; done");
  spec.events = true;
  spec.on_event_line = [&](std::string_view) {
    process->stop(SIGINT, Milliseconds(60'000));
    process->stop(SIGINT, Milliseconds(0));
  };
  process = ContainedProcess::start(io, *containment_, spec, [&](ProcessEnd e) { end = std::move(e); });
  io.run();
  EXPECT_EQ(end->cause, EndCause::kStopped);
  EXPECT_EQ(end->termination.signal_sent, SIGINT);
  EXPECT_TRUE(end->termination.forced);
}

// stop() must not call back from inside, because its caller may be iterating over a list of processes. The
// guard has ended, and the case waits only for this test, which holds its output.
TEST_P(ContainedProcessTest, StopNeverCallsEndHandlerSynchronously) {
  boost::asio::io_context io(1);
  std::shared_ptr<ContainedProcess> process;
  UniqueFd output;
  bool ended = false;
  bool stopping = false;
  bool stopped = false;
  ProcessSpec spec = shell("echo up >&$PROCTOR_EVENTS_FD; exec sleep 1000");
  spec.events = true;
  spec.drain = Milliseconds(20'000);
  spec.on_event_line = [&](std::string_view) {
    const std::string leader = std::to_string(process->leader_pid());
    output = UniqueFd(open(("/proc/" + leader + "/fd/1").c_str(), O_WRONLY | O_CLOEXEC));
    kill(process->leader_pid(), SIGTERM);
  };
  process = ContainedProcess::start(io, *containment_, spec, [&](const ProcessEnd&) {
    EXPECT_FALSE(stopping);
    ended = true;
  });
  while (!ended && io.run_one() > 0) {
    siginfo_t info{};
    const bool guard_is_reaped = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
    if (ended || !guard_is_reaped) continue;
    stopping = stopped = true;
    process->stop(SIGKILL, Milliseconds(0));
    stopping = false;
  }
  io.run();
  if (!output) GTEST_SKIP() << "the output of the case cannot be opened from here";
  EXPECT_TRUE(ended && stopped);
}

// Descriptor 3 is the guard's control socket, 6 its first lease, and 200 is above all of its descriptors.
TEST_P(ContainedProcessTest, InheritedDescriptorsKeepTheirNumbers) {
  const std::string file = directory_ + "/lease";
  std::ofstream(file) << "";
  const UniqueFd lease(open(file.c_str(), O_RDWR | O_CLOEXEC));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  for (const int number : {3, 6, 200}) {
    const bool is_free = fcntl(number, F_GETFD) < 0;
    const int fd = is_free ? dup2(writer.get(), number) : fcntl(writer.get(), F_DUPFD, number);
    ProcessSpec spec = shell("echo hi > /dev/fd/" + std::to_string(fd) + "; ls -l /proc/self/fd");
    spec.keep_stdout = true;
    spec.leases = {lease.get()};
    spec.inherited = {fd};
    const ProcessEnd end = run(spec);
    EXPECT_THAT(end.exit_code, Optional(0)) << number;
    char word[8] = {};
    EXPECT_EQ(read(reader.get(), word, sizeof(word)), 3) << number;
    EXPECT_THAT(end.kept_stdout, HasSubstr("-> " + file)) << "the lease";
    EXPECT_LT(fcntl(fd, F_GETFD), 0) << "the end of the pipe is the command's";
  }
}

// A reused loop must not see a stale readiness of an earlier case (boostorg/process #564).
TEST_P(ContainedProcessTest, ManyCasesLeakNoDescriptors) {
  const auto open_fds = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto before = open_fds();
  for (int i = 0; i < 20; ++i) {
    ProcessSpec spec = shell(i % 4 == 3 ? "exec sleep 1000" : "exit 0");
    spec.limits.timeout = Milliseconds(i % 4 == 3 ? 50 : 20'000);
    EXPECT_EQ(run(spec).cause, i % 4 == 3 ? EndCause::kTimeout : EndCause::kExited);
  }
  EXPECT_EQ(open_fds(), before);
}

TEST_P(ContainedProcessTest, KilledRunnerLeavesNoProcesses) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const pid_t runner = fork();
  if (runner == 0) {
    run(shell("exec 9>" + fifo + "; trap '' TERM; setsid sleep 1000 & echo up >&9; sleep 1000"));
    _exit(0);
  }
  pollfd up{reader.get(), POLLIN, 0};
  ASSERT_EQ(poll(&up, 1, 10'000), 1);
  kill(runner, SIGKILL);
  waitpid(runner, nullptr, 0);
  EXPECT_TRUE(reads_eof(reader.get(), 5'000));
  // This process is a subreaper too: it adopts the guard, which ends here.
  while (waitpid(-1, nullptr, 0) > 0) {
  }
}

// A frozen process of cgroup v1 ignores SIGKILL until it is thawed, much like a process in a hung driver
// call.
TEST_P(ContainedProcessTest, ReportsUnkillableProcess) {
  const std::string freezer = "/sys/fs/cgroup/freezer/proctor-test-" + std::to_string(getpid());
  if (mkdir(freezer.c_str(), 0755) != 0) GTEST_SKIP() << "needs a writable cgroup v1 freezer";
  ProcessSpec spec = shell("echo 0 > " + freezer + "/tasks; echo up; sleep 1000");
  spec.limits.timeout = Milliseconds(500);
  spec.limits.grace = Milliseconds(100);
  spec.reap = Milliseconds(300);
  spec.on_limit = [&](int, const auto& done) {
    std::ofstream(freezer + "/freezer.state") << "FROZEN";
    done();
  };
  const ProcessEnd end = run(spec);
  EXPECT_TRUE(end.termination.unkillable);
  EXPECT_EQ(end.cause, EndCause::kTimeout);
  std::ofstream(freezer + "/freezer.state") << "THAWED";
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  rmdir(freezer.c_str());
  // The leaf still had processes when its case ended, so it was not removed.
  if (!containment_->run_cgroup().empty()) rmdir((containment_->run_cgroup() + "/2").c_str());
}

INSTANTIATE_TEST_SUITE_P(Layers, ContainedProcessTest, testing::ValuesIn(kAllLayers), layer_name);

TEST(Containment, ListsMissingGuaranteesOfLayers) {
  for (const LayerProbe& probe : Containment::probe_all()) {
    if (probe.works) {
      // Every missing guarantee comes with its fix.
      EXPECT_EQ(probe.not_guaranteed.empty(), probe.how_to_improve.empty()) << to_string(probe.layer);
    } else {
      EXPECT_NE(probe.why_not, "");
      EXPECT_FALSE(probe.layer != Layer::kSubreaper && probe.how_to_improve.empty());
    }
  }
}

}  // namespace
}  // namespace proctor
