#include "harness/runner/attempt/stop_order.h"

#include <gtest/gtest.h>

#include <csignal>
#include <vector>

namespace proctor {
namespace {

// Collects the causes of the ends. Each test runs the loop until no end is held.
class StopOrderTest : public testing::Test {
 protected:
  static ProcessEnd died_of(int signal) {
    ProcessEnd end;
    end.exit_signal = signal;
    end.leader_ended = Clock::now();
    return end;
  }
  static ProcessEnd exited(int code) {
    ProcessEnd end;
    end.exit_code = code;
    end.leader_ended = Clock::now();
    return end;
  }
  void settle(const ProcessEnd& end) {
    order_.settle(end, [this](const ProcessEnd& settled) { causes_.push_back(settled.cause); });
  }

  boost::asio::io_context io_;
  StopOrder order_{io_};
  std::vector<EndCause> causes_;
};

TEST_F(StopOrderTest, SignalDeathJustBeforeStopIsStop) {
  for (const ProcessEnd& end : {died_of(SIGTERM), died_of(SIGINT), exited(128 + SIGTERM)}) {
    boost::asio::io_context io;
    StopOrder order(io);
    EndCause cause = EndCause::kSpawnFailed;
    ProcessEnd now = end;
    now.leader_ended = Clock::now() + Milliseconds(60'000);  // a slow machine cannot exceed this time
    order.settle(now, [&](const ProcessEnd& settled) { cause = settled.cause; });
    io.poll();
    EXPECT_EQ(cause, EndCause::kSpawnFailed) << "not held";
    order.give(SIGTERM, Reason::kInterrupted);
    EXPECT_EQ(cause, EndCause::kSpawnFailed) << "who gives the order is in the middle of something";
    io.run();
    EXPECT_EQ(cause, EndCause::kStopped);
  }
}

TEST_F(StopOrderTest, DeathWithoutOrderKeepsCause) {
  settle(died_of(SIGTERM));
  settle(died_of(SIGTERM));
  io_.run();
  EXPECT_EQ(causes_, (std::vector{EndCause::kExited, EndCause::kExited}));
}

TEST_F(StopOrderTest, OtherEndsSettleImmediately) {
  settle(died_of(SIGSEGV));
  settle(exited(0));
  ProcessEnd timeout = died_of(SIGTERM);
  timeout.cause = EndCause::kTimeout;
  settle(timeout);
  EXPECT_EQ(causes_, (std::vector{EndCause::kExited, EndCause::kExited, EndCause::kTimeout}));
}

TEST_F(StopOrderTest, OrderMayPrecedeDeath) {
  order_.give(SIGTERM, Reason::kInterrupted);
  settle(died_of(SIGTERM));
  settle(exited(3));
  settle(died_of(SIGSEGV));
  ProcessEnd earlier = died_of(SIGTERM);
  earlier.leader_ended -= Milliseconds(60'000);
  settle(earlier);
  EXPECT_EQ(causes_,
            (std::vector{EndCause::kStopped, EndCause::kStopped, EndCause::kExited, EndCause::kExited}));
  EXPECT_EQ(order_.signal(), SIGTERM);
}

TEST_F(StopOrderTest, BudgetStopExplainsNoSignalDeath) {
  order_.give(SIGTERM, Reason::kRunLimit);
  order_.give(SIGINT, Reason::kInterrupted);
  EXPECT_EQ(order_.reason(), Reason::kRunLimit);
  EXPECT_EQ(order_.signal(), 0);
  settle(died_of(SIGTERM));
  EXPECT_EQ(causes_, std::vector{EndCause::kExited});
}

TEST_F(StopOrderTest, DestructorCancelsCallbacks) {
  bool called = false;
  {
    StopOrder order(io_);
    ProcessEnd end = died_of(SIGTERM);
    order.settle(end, [&](const ProcessEnd&) { called = true; });
  }
  io_.run();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace proctor
