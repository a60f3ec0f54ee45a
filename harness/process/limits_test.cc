// Tests the time limit, the stall limit, and the signals that follow a limit.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>

#include "harness/base/unique_fd.h"
#include "harness/process/contained_process.h"
#include "harness/process/containment.h"
#include "harness/process/guard/tree.h"
#include "harness/process/process_fixture.h"

namespace proctor {
namespace {

using testing::Optional;

class LimitsTest : public ContainedProcessTest {};

TEST_P(LimitsTest, TimeoutEndsCooperativeTreeWithSigterm) {
  ProcessSpec spec = shell("trap 'exit 3' TERM; echo up; while :; do sleep 0.05; done");
  spec.limits.timeout = Milliseconds(200);
  const ProcessEnd end = run_past_up(spec);
  EXPECT_EQ(end.cause, EndCause::kTimeout);
  EXPECT_EQ(end.termination.signal_sent, SIGTERM);
  EXPECT_FALSE(end.termination.forced);
  EXPECT_THAT(end.exit_code, Optional(3)) << "signal " << end.exit_signal.value_or(0);
}

TEST_P(LimitsTest, RestartedClockExtendsTimeout) {
  ProcessSpec spec = shell("echo begin >&$PROCTOR_EVENTS_FD; sleep 1; exit 7");
  spec.events = true;
  std::shared_ptr<ContainedProcess> process;
  bool begun = false;
  spec.on_event_line = [&](std::string_view) {
    begun = true;
    process->restart_clock({.timeout = Milliseconds(20'000), .stall = {}});
  };
  // The first limit is shorter than the sleep. On a slow machine it may end before the sleep begins.
  for (spec.limits.timeout = Milliseconds(200); !begun; spec.limits.timeout = *spec.limits.timeout * 2) {
    const ProcessEnd end = run_with(spec, process);
    if (begun) {
      EXPECT_THAT(end.exit_code, Optional(7));
    }
  }
}

TEST_P(LimitsTest, RestartedClockEnforcesNewLimits) {
  for (const bool stall : {false, true}) {
    ProcessSpec spec =
        shell("trap 'exit 3' TERM; echo begin >&$PROCTOR_EVENTS_FD; while :; do sleep 0.05; done");
    spec.events = true;
    spec.limits.timeout = Milliseconds(600'000);
    std::shared_ptr<ContainedProcess> process;
    spec.on_event_line = [&](std::string_view) {
      ProcessLimits limits;
      (stall ? limits.stall : limits.timeout) = Milliseconds(200);
      process->restart_clock(limits);
    };
    EXPECT_EQ(run_with(spec, process).cause, stall ? EndCause::kStall : EndCause::kTimeout);
  }
}

TEST_P(LimitsTest, TimeoutKillsTreeThatIgnoresSigterm) {
  ProcessSpec spec = shell("trap '' TERM; echo up; while :; do sleep 0.05; done");
  spec.limits.timeout = Milliseconds(200);
  spec.limits.grace = Milliseconds(200);
  const ProcessEnd end = run_past_up(spec);
  EXPECT_EQ(end.cause, EndCause::kTimeout);
  EXPECT_TRUE(end.termination.forced);
  EXPECT_THAT(end.exit_signal, Optional(SIGKILL));
}

TEST_P(LimitsTest, TimeoutKillsAndReportsSurvivingChild) {
  const std::string fifo = make_fifo();
  const UniqueFd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ProcessSpec spec =
      shell("(trap '' TERM; exec 9>" + fifo + "; echo up; while :; do sleep 0.05; done) & wait");
  spec.limits.timeout = Milliseconds(200);
  spec.limits.grace = Milliseconds(200);
  const ProcessEnd end = run_past_up(spec);
  EXPECT_EQ(end.cause, EndCause::kTimeout);
  EXPECT_TRUE(end.termination.forced);
  EXPECT_FALSE(end.termination.leaked_processes.empty());
  EXPECT_TRUE(reads_eof(reader.get(), 0));
}

TEST_P(LimitsTest, StoppedLeaderReceivesSigterm) {
  ProcessSpec spec = shell("trap 'exit 5' TERM; echo up; kill -STOP $$; while :; do sleep 0.05; done");
  spec.limits.timeout = Milliseconds(200);
  const ProcessEnd end = run_past_up(spec);
  EXPECT_EQ(end.cause, EndCause::kTimeout);
  EXPECT_THAT(end.exit_code, Optional(5));
  EXPECT_FALSE(end.termination.forced);
}

TEST_P(LimitsTest, StallMeasuresSilenceNotRuntime) {
  ProcessSpec silent = shell("echo up; exec sleep 1000");
  silent.limits.stall = Milliseconds(300);
  EXPECT_EQ(run(silent).cause, EndCause::kStall);

  // The case prints for longer than the limit. If the machine itself pauses that long, the test retries with
  // twice of both.
  EndCause cause = EndCause::kStall;
  for (int times = 1; times <= 8 && cause == EndCause::kStall; times *= 2) {
    ProcessSpec talking = shell("i=0; while [ $i -lt " + std::to_string(20 * times) +
                                " ]; do echo $i; sleep 0.05; i=$((i+1)); done");
    talking.limits.stall = Milliseconds(800 * times);
    cause = run(talking).cause;
  }
  EXPECT_EQ(cause, EndCause::kExited);
}

INSTANTIATE_TEST_SUITE_P(Layers, LimitsTest, testing::ValuesIn(kAllLayers), layer_name);

// ---- The time between a limit and its first signal, in which evidence is gathered ----

using testing::Optional;

class LimitHookTest : public testing::TestWithParam<Layer> {
 protected:
  void SetUp() override {
    auto opened = Containment::open(GetParam(), "hook-" + std::to_string(getpid()));
    if (!opened) GTEST_SKIP() << opened.error().what << ". " << opened.error().hint;
    containment_ = *std::move(opened);
  }

  static ProcessSpec shell(const std::string& script) {
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.limits.timeout = Milliseconds(500);
    spec.limits.grace = Milliseconds(5'000);
    return spec;
  }

  std::shared_ptr<ContainedProcess> start(ProcessSpec spec) {
    return ContainedProcess::start(io_, *containment_, std::move(spec),
                                   [this](ProcessEnd end) { end_ = std::move(end); });
  }

  boost::asio::io_context io_{1};
  std::unique_ptr<Containment> containment_;
  std::optional<ProcessEnd> end_;
};

TEST_P(LimitHookTest, TreeStaysAliveUntilHookCompletes) {
  ProcessSpec spec = shell("exec sleep 1000");
  std::function<void()> go_on;
  int guard = 0;
  spec.on_limit = [&](int pid, std::function<void()> done) {
    guard = pid;
    go_on = std::move(done);
  };
  const auto process = start(std::move(spec));
  while (!go_on) io_.run_one();
  EXPECT_FALSE(guard::descendants(guard).empty());
  EXPECT_FALSE(end_);
  go_on();
  go_on();  // a second call has no effect
  io_.run();
  ASSERT_TRUE(end_);
  EXPECT_EQ(end_->cause, EndCause::kTimeout);
  EXPECT_THAT(end_->exit_signal, Optional(SIGTERM));
  go_on();  // a call after the end has no effect
}

TEST_P(LimitHookTest, EndsCaseAfterHookTimeLimit) {
  ProcessSpec spec = shell("exec sleep 1000");
  spec.limit_hook = Milliseconds(50);
  spec.on_limit = [](int, const std::function<void()>&) {};
  const auto process = start(std::move(spec));
  io_.run();
  ASSERT_TRUE(end_);
  EXPECT_EQ(end_->cause, EndCause::kTimeout);
  EXPECT_THAT(end_->exit_signal, Optional(SIGTERM));
}

TEST_P(LimitHookTest, CaseThatEndsDuringHookIsTimeout) {
  ProcessSpec spec = shell("exec sleep 1000");
  std::function<void()> go_on;
  spec.on_limit = [&](int guard, std::function<void()> done) {
    guard::signal_descendants(guard, SIGKILL);
    go_on = std::move(done);
  };
  const auto process = start(std::move(spec));
  while (!go_on || process->leader_pid() != 0) io_.run_one_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(end_) << "it ended before its evidence was complete";
  go_on();
  io_.run();
  ASSERT_TRUE(end_);
  EXPECT_EQ(end_->cause, EndCause::kTimeout);
  EXPECT_THAT(end_->exit_signal, Optional(SIGKILL));
}

TEST_P(LimitHookTest, StopEndsHookEarly) {
  ProcessSpec spec = shell("exec sleep 1000");
  bool reached = false;
  spec.on_limit = [&](int, const std::function<void()>&) { reached = true; };
  spec.limit_hook = Milliseconds(3'600'000);
  const auto process = start(std::move(spec));
  while (!reached) io_.run_one();
  process->stop(SIGINT, Milliseconds(5'000));
  io_.run();
  ASSERT_TRUE(end_);
  EXPECT_EQ(end_->cause, EndCause::kTimeout);
  EXPECT_THAT(end_->exit_signal, Optional(SIGINT));
}

// Tools that inspect a case must see its processes under the pids of the runner's namespace.
TEST_P(LimitHookTest, ToolSeesHostPids) {
  ProcessSpec spec = shell("test -d /proc/" + std::to_string(getpid()) + "/task && echo \"$PPID\"");
  spec.limits.timeout = Milliseconds(20'000);
  spec.reach = Reach::kMachine;
  spec.keep_stdout = true;
  const ProcessEnd end = run_contained(*containment_, spec);
  EXPECT_THAT(end.exit_code, Optional(0));
  EXPECT_NE(end.kept_stdout, "1\n") << "its guard is the init of a namespace";
}

INSTANTIATE_TEST_SUITE_P(Layers, LimitHookTest, testing::ValuesIn(kAllLayers), layer_name);

}  // namespace
}  // namespace proctor
