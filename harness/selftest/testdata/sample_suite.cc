// A suite that simulates its own faults in the way of the simulator. Each check is one possible end of a row of a
// self-test (row_runner_test.cc has the table).
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "suites/main/check.h"

namespace proctor::suite {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Returns whether `fault` is requested, and logs that it fired.
bool fires(const std::string& fault) {
  const char* asked = std::getenv("PROCTOR_SIM_FAULTS");
  if (asked == nullptr || std::string(asked).rfind(fault, 0) != 0) return false;
  const char* log = std::getenv("PROCTOR_SIM_LOG");
  const int fd = open(log == nullptr ? "" : log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string line = "{\"fault\":\"" + fault + "\",\"t_ns\":" + std::to_string(now_ns()) + "}\n";
  const bool logged = fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (!logged) std::abort();
  close(fd);
  return true;
}

// Returns whether this process is the first one in its ledger directory. Rows must not share ledger directories.
bool alone() {
  const char* state = std::getenv("PROCTOR_SIM_STATE");
  if (state == nullptr) return false;
  const std::string mark = std::string(state) + "/mark";
  return open(mark.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0;
}

void copy_and_compare() {
  expect_true(alone(), "nobody used this ledger before");
  step("copy");
  expect_same("byte 17", "0x11", fires("memory.corrupt_copy") ? "0xee" : "0x11");
}

}  // namespace

PROCTOR_CHECK(Row, Killed, "R1", "sample", kGate, .faults = {"memory.corrupt_copy:at=17"}) {
  copy_and_compare();
}
PROCTOR_CHECK(Row, KilledThoughItsRuleOnlyWarns, "R1", "sample", kWarn, .faults = {"memory.corrupt_copy"}) {
  copy_and_compare();
}
PROCTOR_CHECK(Row, Survives, "R2", "sample", kGate, .faults = {"copy.short"}) {
  step("copy");
  fires("copy.short");
}
PROCTOR_CHECK(Row, NeverReached, "R3", "sample", kGate, .faults = {"copy.skip"}) { step("nothing to copy"); }
PROCTOR_CHECK(Row, FiresInSetUp, "R4", "sample", kGate, .faults = {"copy.skip"}) {
  const bool fired = fires("copy.skip");
  step("look");
  expect_true(!fired, "the copy was made");
}
PROCTOR_CHECK(Row, Crashes, "R5", "sample", kGate, .faults = {"host.crash"}) {
  step("call");
  if (fires("host.crash")) std::abort();
}
PROCTOR_CHECK(Row, CrashesAsExpected, "R6", "sample", kGate, .faults = {"host.crash"}, .expects = kAbort) {
  step("call");
  if (fires("host.crash")) std::abort();
}
PROCTOR_CHECK(Row, HangsAsExpected, "R7", "sample", kGate, .faults = {"order.hang_in_sync"},
              .expects = kHang) {
  step("wait");
  while (fires("order.hang_in_sync")) std::this_thread::sleep_for(std::chrono::hours(1));
}
PROCTOR_CHECK_EACH((std::vector<std::string>{"fp32", "fp64"}), Row, KilledByASecondParameter, "R8", "sample",
                   kGate, .faults = {"kernel.fp64_as_fp32"}) {
  step("multiply");
  expect_true(parameter() != "fp64" || !fires("kernel.fp64_as_fp32"), "all digits are right");
}
PROCTOR_CHECK(Row, NeverClean, "R9", "sample", kGate) { expect_true(false, "always wrong"); }
PROCTOR_CHECK(Row, SkipsForASymbol, "R10", "sample", kGate, .faults = {"sysman.exceed_temperature_limit"}) {
  skip("symbol_missing:zesInit");
}

}  // namespace proctor::suite

int main(int argc, char** argv) { return proctor::suite::run_main(argc, argv); }
