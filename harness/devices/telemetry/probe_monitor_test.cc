#include "harness/devices/telemetry/probe_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "harness/base/temp_dir.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

using testing::HasSubstr;

constexpr const char* kAnswer =
    R"({"v":1,"devices":[{"state":"ok","memory":{"used":7,"total":9},"holders":[{"pid":4,"bytes":7}]},)"
    R"({"state":"lost","memory":null,"holders":null}]})";

TEST(ParseLook, TellsWhatIsNotKnownFromNothing) {
  const auto snapshot = parse_snapshot(kAnswer, 2);
  ASSERT_TRUE(snapshot);
  EXPECT_EQ((*snapshot)[0].used_bytes, 7u);
  ASSERT_TRUE((*snapshot)[0].holders);
  EXPECT_EQ((*snapshot)[0].holders->at(0).pid, 4);
  EXPECT_EQ((*snapshot)[1].state, "lost");
  EXPECT_FALSE((*snapshot)[1].used_bytes);
  EXPECT_FALSE((*snapshot)[1].holders);
}

TEST(ParseLook, OtherTextsAreErrors) {
  for (const char* text : {"", "{", "[]", "{}", R"({"devices":[{}]})", R"({"devices":[7]})"}) {
    EXPECT_FALSE(parse_snapshot(text, 1)) << text;
  }
  EXPECT_FALSE(parse_snapshot(kAnswer, 3)) << "one device too few";
}

// Shell scripts stand in for a probe whose driver misbehaves. $2 is the FIFO.
class Monitor : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "monitor-test-" + std::to_string(getpid()));
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
  }

  // Looks `looks` times, one after the other.
  std::vector<ProbeMonitor::Snapshot> snapshot(const std::string& script, int snapshots,
                                               Milliseconds deadline) {
    boost::asio::io_context io;
    ProbeMonitor monitor(io, *containment_,
                         {.argv = {"/bin/sh", "-c", "cd " + directory_ + "; " + script, "probe"},
                          .env = {"PATH=/usr/bin:/bin"},
                          .fifo = directory_ + "/fifo",
                          .ids = {"a", "b"},
                          .deadline = deadline});
    std::vector<ProbeMonitor::Snapshot> seen;
    std::function<void()> next = [&] {
      monitor.take_snapshot([&](const ProbeMonitor::Snapshot& snapshot) {
        seen.push_back(snapshot);
        if (static_cast<int>(seen.size()) < snapshots) return next();
        monitor.stop([&] { io.stop(); });
      });
    };
    next();
    io.run();
    return seen;
  }

  static constexpr Milliseconds kLong{60'000};
  const std::string answer_ = std::string("printf '%s\\n' '") + kAnswer + "' >&$PROCTOR_EVENTS_FD";
  TempDir scratch_;
  const std::string directory_ = scratch_.string();
  std::unique_ptr<Containment> containment_;
};

TEST_F(Monitor, OneChildAnswersAllLooks) {
  const auto seen =
      snapshot("echo x >>started; while head -c1 >/dev/null; do " + answer_ + "; done <$2", 5, kLong);
  ASSERT_EQ(seen.size(), 5u);
  for (const auto& one : seen) EXPECT_TRUE(one) << one.error().what;
  EXPECT_EQ(std::filesystem::file_size(directory_ + "/started"), 2u);
}

TEST_F(Monitor, AHangCostsOneDeadlineAndTheNextLookANewChild) {
  const auto seen = snapshot(
      "exec <$2; if [ -e hung ]; then head -c1 >/dev/null; " + answer_ + "; fi; touch hung; exec sleep 1000",
      2, Milliseconds(2'000));
  ASSERT_EQ(seen.size(), 2u);
  ASSERT_FALSE(seen[0]);
  EXPECT_THAT(seen[0].error().what, HasSubstr("did not answer within 2s"));
  EXPECT_TRUE(seen[1]) << seen[1].error().what;
}

TEST_F(Monitor, AChildThatEndsIsNamed) {
  const auto seen = snapshot("exit 3", 1, kLong);
  ASSERT_FALSE(seen[0]);
  EXPECT_THAT(seen[0].error().what, HasSubstr("ended with exit code 3"));
}

}  // namespace
}  // namespace proctor
