// Tests of complete runs, as an embedding program starts them. Only their RunControl stops them.
#include "harness/runner/schedule/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/temp_dir.h"
#include "harness/process/containment.h"
#include "harness/runner/machine/scratch.h"

namespace proctor {
namespace {

class Events : public EventSink {
 public:
  explicit Events(const std::unique_ptr<RunControl>& control) : control_(control) {}

  void on(const Event& event) override {
    if (const auto* ended = std::get_if<CaseEnded>(&event)) verdicts.push_back(ended->verdict);
    if (const auto* stop = std::get_if<StopRequested>(&event)) {
      causes.push_back(stop->reason);
      signals.push_back(stop->signal);
    }
    if (std::holds_alternative<AttemptStarted>(event) && at_start) at_start(*control_);
  }

  void (*at_start)(RunControl& control) = nullptr;
  std::vector<Verdict> verdicts;
  std::vector<StopWord> causes;
  std::vector<int> signals;

 private:
  const std::unique_ptr<RunControl>& control_;
};

class RunnerTest : public testing::Test, private CaseRules {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "runner-test-" + scratch_dir_.path().filename().string());
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
    auto scratch = ScratchRoot::create();
    ASSERT_TRUE(scratch) << scratch.error().what;
    scratch_ = *std::move(scratch);
    plan_.suites.emplace_back().name = "s";
  }

  void add_case(const char* script) {
    Case test;
    test.id = "s/" + std::to_string(plan_.cases.size());
    test.argv = {"/bin/sh", "-c", script};
    test.policy.grace = Milliseconds(100);
    plan_.cases.push_back(std::move(test));
  }

  void run() {
    RunSetup setup;
    setup.plan = &plan_;
    setup.containment = containment_.get();
    setup.scratch = scratch_.get();
    setup.devices = &devices_;
    setup.attempts.run_id = planned_.run_id = "runner-test";
    setup.attempts.run_dir = scratch_dir_.path().string();
    setup.rules = this;
    run_plan(setup, planned_, *control_, events_);
  }

  std::unique_ptr<RunControl> control_ = *RunControl::open();
  Events events_{control_};

 private:
  Result<CaseEnvironment> environment(const Suite& /*suite*/,
                                      const std::vector<std::string>& /*devices*/) override {
    return CaseEnvironment{.variables = {"PATH=/usr/bin:/bin"}, .visibility = {}};
  }
  std::optional<KnownVerdict> known_failure(const Suite& /*suite*/, const Case& /*test*/,
                                            const std::vector<std::string>& /*devices*/,
                                            const Verdict& /*verdict*/) override {
    return std::nullopt;
  }

  TempDir scratch_dir_;
  std::unique_ptr<Containment> containment_;
  std::unique_ptr<ScratchRoot> scratch_;
  Plan plan_;
  FoundDevices devices_;
  RunPlanned planned_;
};

TEST_F(RunnerTest, RunsEachCase) {
  add_case("exit 0");
  add_case("exit 1");
  run();
  EXPECT_THAT(events_.signals, testing::IsEmpty());
  ASSERT_EQ(events_.verdicts.size(), 2U);
  EXPECT_EQ(events_.verdicts[0].outcome, Outcome::kPass);
  EXPECT_EQ(events_.verdicts[1].outcome, Outcome::kFail);
  EXPECT_EQ(control_->state(), RunControl::State::kOver);
}

TEST_F(RunnerTest, StopBeforeStartRunsNoCase) {
  add_case("exec sleep 60");
  add_case("exec sleep 60");
  control_->stop(SIGTERM, StopCause::kSignal);
  run();
  EXPECT_EQ(events_.signals.front(), SIGTERM);
  for (const Verdict& verdict : events_.verdicts)
    EXPECT_EQ(verdict, (Verdict{Outcome::kNotrun, Reason::kInterrupted}));
  EXPECT_EQ(events_.verdicts.size(), 2U);
}

TEST_F(RunnerTest, KillsAtTheSecondSignal) {
  add_case("trap '' TERM INT; while :; do sleep 1; done");
  events_.at_start = [](RunControl& control) {
    control.stop(SIGINT, StopCause::kSignal);
    control.stop(SIGTERM, StopCause::kParentDied);
    control.stop(SIGTERM, StopCause::kSignal);
  };
  run();
  EXPECT_EQ(events_.signals.front(), SIGINT);
  EXPECT_EQ(events_.causes, (std::vector<StopWord>{StopCause::kSignal, StopCause::kSignal}));
}

TEST_F(RunnerTest, StopsIfParentDies) {
  add_case("exec sleep 60");
  events_.at_start = [](RunControl& control) { control.stop(SIGTERM, StopCause::kParentDied); };
  run();
  EXPECT_EQ(events_.signals.front(), SIGTERM);
  EXPECT_EQ(events_.causes, std::vector<StopWord>{StopCause::kParentDied});
}

TEST_F(RunnerTest, PausesWhenItIsSuspended) {
  static int pauses;
  pauses = 0;
  control_ = *RunControl::open([](RunControl::Suspended what) {
    EXPECT_EQ(what, RunControl::Suspended::kProcess);
    ++pauses;
  });
  add_case("exit 0");
  control_->suspend();
  run();
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(events_.verdicts.front().outcome, Outcome::kPass);
}

TEST_F(RunnerTest, InstallsNoHandler) {
  add_case("exit 0");
  const auto actions = [] {
    std::vector<decltype(SIG_DFL)> handlers;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1}) {
      struct sigaction action {};
      ::sigaction(signal, nullptr, &action);
      handlers.push_back(action.sa_handler);
    }
    return handlers;
  };
  const auto before = actions();
  events_.at_start = [](RunControl& /*control*/) {
    struct sigaction action {};
    ::sigaction(SIGTERM, nullptr, &action);
    EXPECT_EQ(action.sa_handler, SIG_DFL);
  };
  run();
  EXPECT_EQ(actions(), before);
}

}  // namespace
}  // namespace proctor
