// The moment between a limit and its first signal, in which evidence is gathered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>

#include "harness/process/contained_process.h"
#include "harness/process/containment.h"
#include "harness/process/guard/tree.h"
#include "harness/process/process_fixture.h"

namespace proctor {
namespace {

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

TEST_P(LimitHookTest, TheTreeIsWholeUntilTheHookIsDone) {
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
  go_on();  // a second call is none
  io_.run();
  ASSERT_TRUE(end_);
  EXPECT_EQ(end_->cause, EndCause::kTimeout);
  EXPECT_THAT(end_->exit_signal, Optional(SIGTERM));
  go_on();  // and one after the end is none
}

TEST_P(LimitHookTest, AHookThatIsNeverDoneIsNotWaitedForForEver) {
  ProcessSpec spec = shell("exec sleep 1000");
  spec.limit_hook = Milliseconds(50);
  spec.on_limit = [](int, const std::function<void()>&) {};
  const auto process = start(std::move(spec));
  io_.run();
  ASSERT_TRUE(end_);
  EXPECT_EQ(end_->cause, EndCause::kTimeout);
  EXPECT_THAT(end_->exit_signal, Optional(SIGTERM));
}

TEST_P(LimitHookTest, ACaseThatEndsMeanwhileIsATimeoutAllTheSame) {
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

TEST_P(LimitHookTest, AStopCutsTheHookShort) {
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

// Tools that look at a case must see its processes by the pids that the runner knows.
TEST_P(LimitHookTest, AToolWithHostPidsSeesTheRunner) {
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
