#include "harness/run/schedule/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace proctor {
namespace {

TEST(StopSignals, OneThatIsHeldIsSeen) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    hold_stop_signals();
    EXPECT_FALSE(stop_signal_waits());
    ::raise(signal);
    EXPECT_TRUE(stop_signal_waits()) << signal;
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    int taken = 0;
    ::sigwait(&only, &taken);
    EXPECT_EQ(taken, signal);
    release_stop_signals();
  }
}

}  // namespace
}  // namespace proctor
