#include "harness/process/evidence/core_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace proctor {
namespace {

const CrashedProcess kProcess{.pid = 7, .host_pid = 4711, .program = "/opt/a program with a long name"};
constexpr CoreLimit kUnlimited{.soft = ~0ULL, .hard = ~0ULL};

TEST(CoreGlob, ExpandsKnownSpecifiers) {
  const auto glob = [](const std::string& pattern, bool adds_pid = false) {
    return core_glob({.text = pattern, .adds_pid = adds_pid}, kProcess, "/home/a[1]");
  };
  EXPECT_EQ(glob("core"), "/home/a\\[1]/core");
  EXPECT_EQ(glob("core", true), "/home/a\\[1]/core.7");
  EXPECT_EQ(glob("core.%p", true), "/home/a\\[1]/core.7");
  EXPECT_EQ(glob("/cores/%e.%P.%t%%"), "/cores/*.4711.*%");
  EXPECT_EQ(glob("/cores/%u/a*b"), "/cores/" + std::to_string(::getuid()) + "/a\\*b");
  EXPECT_EQ(glob("/cores/%"), "/cores/");
}

TEST(CoreGlob, UnknownHostPidBecomesWildcard) {
  EXPECT_EQ(core_glob({.text = "/c/%P"}, {.pid = 2, .host_pid = 0, .program = "x"}, "/"), "/c/*");
}

TEST(CoreLocation, SuggestsCommandOfCoreHandler) {
  const CorePattern systemd{.text = "|/usr/lib/systemd/systemd-coredump %P %u %g"};
  EXPECT_EQ(where_the_core_is(systemd, kUnlimited, kProcess, true),
            "its core went to systemd-coredump: `coredumpctl gdb 4711`");
  // The pid belongs to a namespace that has ended. systemd-coredump can also search by the process name,
  // which the kernel truncates.
  EXPECT_EQ(where_the_core_is(systemd, kUnlimited,
                              {.pid = 2, .host_pid = 0, .program = "a/gpu_tests_of_mine"}, true),
            "its core went to systemd-coredump: `coredumpctl gdb gpu_tests_of_mi`");
  EXPECT_EQ(where_the_core_is({.text = "|/usr/share/apport/apport %p"}, kUnlimited, kProcess, true),
            "its core went to apport (kernel.core_pattern is |/usr/share/apport/apport %p); "
            "`sysctl kernel.core_pattern=core.%p` keeps it here");
  EXPECT_EQ(where_the_core_is({.text = "@/run/coredump.socket"}, kUnlimited, kProcess, false),
            "no core: coredump.socket took none (kernel.core_pattern)");
}

TEST(CorePattern, IsSharedWithoutPid) {
  EXPECT_TRUE((CorePattern{.text = "core"}).is_shared());
  EXPECT_FALSE((CorePattern{.text = "core", .adds_pid = true}).is_shared());
  EXPECT_FALSE((CorePattern{.text = "core.%e.%p"}).is_shared());
}

TEST(CoreGlob, MissingPidMatchesAllProcesses) {
  EXPECT_EQ(core_glob({.text = "core.%p"}, {}, "/d"), "/d/core.*");
  EXPECT_EQ(core_glob({.text = "core", .adds_pid = true}, {}, "/d"), "/d/core.*");
  EXPECT_EQ(core_glob({.text = "core"}, {}, "/d"), "/d/core");
}

TEST(CoreLocation, ExplainsMissingCore) {
  const CorePattern file{.text = "core"};
  EXPECT_EQ(where_the_core_is(file, {.soft = 0, .hard = 0}, kProcess, false),
            "no core: its size is limited to 0 (ulimit -Hc), which only root can raise");
  EXPECT_EQ(where_the_core_is(file, kUnlimited, kProcess, false),
            "no core: the program forbade it, another one crashed there at the same moment, or there was no "
            "place for it (kernel.core_pattern is core)");
  EXPECT_EQ(where_the_core_is({.text = "core.%p"}, kUnlimited, kProcess, false),
            "no core: the program forbade it, or there was no place for it (kernel.core_pattern is core.%p)");
}

TEST(LeavesACore, ReturnsTrueOnlyForCoreSignals) {
  EXPECT_TRUE(leaves_a_core(SIGSEGV));
  EXPECT_TRUE(leaves_a_core(SIGABRT));
  EXPECT_FALSE(leaves_a_core(SIGKILL));
  EXPECT_FALSE(leaves_a_core(SIGTERM));
}

}  // namespace
}  // namespace proctor
