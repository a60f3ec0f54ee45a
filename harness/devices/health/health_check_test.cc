#include "harness/devices/health/health_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/process/containment.h"
#include "harness/process/process_spec.h"

namespace proctor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kPass = R"({"v":1,"device":"card","result":"pass","step":"","detail":"","ms":4})";
constexpr const char* kFail =
    R"({"v":1,"device":"card","result":"fail","step":"run the kernel","detail":"word 3 is 0","ms":4})";

ProcessEnd exited(int code) {
  ProcessEnd end;
  end.exit_code = code;
  return end;
}

TEST(JudgeHealth, RequiresMatchingLineAndExitCode) {
  const auto status = [](int code, const char* line) {
    return judge_health(exited(code), line, Milliseconds(1)).status;
  };
  EXPECT_EQ(status(0, kPass), HealthStatus::kPass);
  EXPECT_EQ(status(1, kFail), HealthStatus::kFail);
  for (const auto& [code, line] : {std::pair{0, kFail}, {1, kPass}, {0, ""}, {1, "{"}, {3, ""}, {127, ""}})
    EXPECT_EQ(status(code, line), HealthStatus::kUnknown) << code << " with " << line;
}

TEST(JudgeHealth, CrashAndTimeoutAreFailures) {
  ProcessEnd crash;
  crash.exit_signal = SIGSEGV;
  EXPECT_EQ(judge_health(crash, kPass, Milliseconds(1)).status, HealthStatus::kFail);
  ProcessEnd silence;
  silence.cause = EndCause::kTimeout;
  const auto answer = judge_health(silence, "", Milliseconds(1500));
  EXPECT_EQ(answer.status, HealthStatus::kFail);
  EXPECT_THAT(answer.words, HasSubstr("1500ms"));
}

TEST(JudgeHealth, SpawnFailureGivesUnknownStatus) {
  ProcessEnd end;
  end.cause = EndCause::kSpawnFailed;
  end.spawn_error = SpawnError{"exec", ENOENT};
  EXPECT_EQ(judge_health(end, "", Milliseconds(1)).status, HealthStatus::kUnknown);
}

// Shell scripts replace the program. Each run of a script adds a line to the file `runs`.
class Examination : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "health-test-" + std::to_string(getpid()));
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
  }

  HealthRequest request(const std::string& script, Milliseconds deadline = Milliseconds(10'000)) {
    return {.argv = {"/bin/sh", "-c",
                     "echo x >> runs; say() { printf '%s\\n' \"$1\" >&\"$PROCTOR_EVENTS_FD\"; }; " + script},
            .env = {"PATH=/usr/bin:/bin"},
            .directory = directory_,
            .leases = {},
            .deadline = deadline};
  }
  std::string say(const char* line, int code) {
    return std::string("say '") + line + "'; exit " + std::to_string(code);
  }
  int runs() const {
    std::ifstream file(directory_ + "/runs");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }

  TempDir scratch_;
  const std::string directory_ = scratch_.string();
  std::unique_ptr<Containment> containment_;
};

TEST_F(Examination, PassEndsAfterOneRun) {
  EXPECT_EQ(examine_now(*containment_, request(say(kPass, 0))).status, HealthStatus::kPass);
  EXPECT_EQ(runs(), 1);
}

TEST_F(Examination, AFailureIsRepeatedOnce) {
  const auto answer = examine_now(*containment_, request(say(kFail, 1)));
  EXPECT_EQ(answer.status, HealthStatus::kFail);
  EXPECT_THAT(answer.words, HasSubstr("run the kernel: word 3 is 0"));
  EXPECT_EQ(runs(), 2);
}

TEST_F(Examination, PassAfterOneFailureIsHealthy) {
  const auto script = "if [ $(wc -l < runs) = 1 ]; then " + say(kFail, 1) + "; fi; " + say(kPass, 0);
  const auto answer = examine_now(*containment_, request(script));
  EXPECT_EQ(answer.status, HealthStatus::kPass);
  EXPECT_THAT(answer.words, AllOf(HasSubstr("word 3 is 0; then"), HasSubstr("compared")));
}

TEST_F(Examination, NoAnswerInTimeIsAFailure) {
  const auto answer = examine_now(*containment_, request("exec sleep 1000", Milliseconds(500)));
  EXPECT_EQ(answer.status, HealthStatus::kFail);
  EXPECT_EQ(runs(), 2);
}

// The script reports an unhealthy device until the reset creates the file `reset`.
TEST_F(Examination, ResetsUnhealthyDeviceWhenAllowed) {
  const auto script = "if [ -e reset ]; then " + say(kPass, 0) + "; fi; " + say(kFail, 1);
  HealthRequest how = request(script);
  const auto unasked = examine_now(*containment_, how);
  EXPECT_EQ(unasked.status, HealthStatus::kFail);
  EXPECT_FALSE(unasked.reset);
  how.reset = request("touch reset; " + say(kPass, 0)).argv;
  const auto answer = examine_now(*containment_, how);
  EXPECT_EQ(answer.status, HealthStatus::kPass);
  EXPECT_TRUE(answer.reset);
  EXPECT_THAT(answer.words, AllOf(HasSubstr("word 3 is 0; then it was reset; then"), HasSubstr("compared")));
  EXPECT_EQ(runs(), 2 + 4);
}

TEST_F(Examination, StaysUnhealthyWhenProbeFailsAfterReset) {
  HealthRequest how = request(say(kFail, 1));
  how.reset = request(say(kPass, 0)).argv;
  const auto answer = examine_now(*containment_, how);
  EXPECT_EQ(answer.status, HealthStatus::kFail);
  EXPECT_TRUE(answer.reset);
  EXPECT_EQ(runs(), 4);
}

// The reset is refused because a process uses the device, or because this user may not reset it.
TEST_F(Examination, FailedResetLeavesDeviceUnhealthy) {
  for (const int code : {1, 3}) {
    HealthRequest how = request(say(kFail, 1));
    how.reset = request("exit " + std::to_string(code)).argv;
    const auto answer = examine_now(*containment_, how);
    EXPECT_EQ(answer.status, HealthStatus::kFail) << code;
    EXPECT_FALSE(answer.reset) << code;
  }
  EXPECT_EQ(runs(), 2 * 3);
}

TEST_F(Examination, StopDropsAnswerAndKillsProbe) {
  boost::asio::io_context io(1);
  HealthChecks checks(io, *containment_);
  bool answered = false;
  bool stopped = false;
  checks.examine(request("exec sleep 1000"), [&](const HealthAnswer&) { answered = true; });
  checks.stop([&] { stopped = true; });
  io.run();
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace proctor
