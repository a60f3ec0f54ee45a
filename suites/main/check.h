// The interface with which a conformance check is written. Each suite includes this file. Example:
//
//   std::string devices_under(const std::string& mask);
//
//   PROCTOR_CHECK(DeviceMask, DuplicateEntrySelectsDeviceOnce, "V10", "intel/compute-runtime, parseAffinityMask", kWarn) {
//     const std::string expected = devices_under("0");
//     step("enumerate under '0,0'");
//     const std::string got = devices_under("0,0");
//     expect_same("devices under '0,0'", expected, got);
//   }
//
// This is a GoogleTest test named DeviceMask.DuplicateEntrySelectsDeviceOnce. It also has a rule, the source of the rule and a
// severity, and it reports its events to Proctor (harness/journal/child_protocol.h). Started by hand, the program
// is a normal GoogleTest program.
//
// skip() and fail_because() end the check from any depth. Any other exception is a failure.
//
// Further facts about a check follow as trailing arguments, in the order of the members of CheckTraits. Example:
//
//   PROCTOR_CHECK(Copy, DestinationHasSourceBytes, "M22", "Level Zero specification, Copies", kGate,
//                 .faults = {"memory.corrupt_copy:at=17"}, .needs = {"fp64"},
//                 .sizes = {.smoke = 4096, .ci = 65536, .unit = "bytes"}) {
//     const std::int64_t bytes = sized();  // as many as the run's size asks for
//     expect_true(bytes > 0, "there is something to copy");
//   }
//
// The axes of a check list the values with which it runs (suites/main/check.h has shared axes). Example:
//
//   PROCTOR_CHECK(Fill, PatternFillsDestination, "M24", "Level Zero specification, AppendMemoryFill", kGate,
//                 .faults = {"memory.corrupt_fill:at=17"},
//                 .axes = {{"bytes", {"0", "1", "65537"}, {"4294967301"}}, {"pattern", {"1", "2", "16"}, {}}}) {
//     at_each_point([](const Point& at) {
//       expect_true(at.size("bytes") >= 0 && at.number("pattern") > 0, "there is something to fill with");
//     });
//   }
//
// The setup of a check ends with its first step(). A fault of the simulator counts as the cause of a failure only
// if it fired after that step. A check without steps has no setup.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/axes.h"
#include "harness/journal/events.h"
#include "suites/main/check_info.h"
#include "suites/main/lease_check.h"

// A plain TEST has no rule, and its report of an exception is not machine-readable.
#undef TEST
#undef TEST_F
#define TEST(...) static_assert(false, "use PROCTOR_CHECK")
#define TEST_F(...) static_assert(false, "use PROCTOR_CHECK")

namespace proctor::suite {

// The GoogleTest test behind each check. PROCTOR_CHECK derives a class from it. It converts Skipped and exceptions
// into the outcome of the check.
class Check : public testing::Test {
 protected:
  // The code of the check, which PROCTOR_CHECK defines.
  virtual void body() = 0;

 private:
  void TestBody() final;
};

// Registers one check. Tables call it in a loop before main runs the tests. A second check with the same name
// aborts the program, because case ids must be unique.
bool add_check(CheckInfo info, std::function<Check*()> make);

// ---- inside a check ----

void step(std::string_view what);
void measure(std::string_view name, double value, std::string_view unit, std::int64_t n = 1,
             double spread = 0);
void warn(std::string_view message);
// Writes a text to the report, as a property of the case. If equal devices must have equal texts, the name begins
// with "same.".
void record(std::string_view name, std::string_view value);
// Reports one trial with several devices and its result. Devices are named as in Mismatch::device. Successful
// trials are reported too, because only their difference from failed trials shows which device is at fault. A
// failed trial alone does not fail the check.
void trial(const std::vector<TrialDevice>& devices, bool ok);

// Ends the check as skip(reason). Examples of reasons: "needs:devices>=2", "symbol_missing:zesInit",
// "unsupported:fp64".
[[noreturn]] void skip(std::string reason);

// Reports a failure and continues. On hardware and on a vendor's driver, a failure of severity warn or info is only
// a warning. If it has a machine-readable `reason` other than kException, for example a crash of the driver, it
// remains a failure.
void report(Mismatch mismatch, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// Ends the check as fail(reason), for example fail_because("driver_crash:11", "zeInit under ',0'").
[[noreturn]] void fail_because(std::string reason, std::string message, const char* file = __builtin_FILE(),
                               int line = __builtin_LINE());

// Announces the intended end of this rank: "signal:9", "exit:3", or "ended" (killed by the runner when the
// other ranks have ended). An end as announced is not a failure.
void leave(std::string_view how);

// True if the devices are simulated by simgpu (PROCTOR_SIM_DRIVER). Every rule must then hold.
bool on_simgpu();
// The amount of work that the check's Sizes give for the size of the run; 0 if the check has no Sizes.
std::int64_t sized();
// The seed of the run (--suite-arg seed). A text that is not a number ends the process with a usage error.
std::uint64_t seed();
// One value for each axis of the check.
class Point {
 public:
  Point(const std::vector<Axis>& axes, const std::vector<std::string>& row) : axes_(axes), row_(row) {}
  const std::string& text(std::string_view axis) const;
  std::int64_t number(std::string_view axis) const;
  std::size_t size(std::string_view axis) const { return static_cast<std::size_t>(number(axis)); }

 private:
  const std::vector<Axis>& axes_;
  const std::vector<std::string>& row_;
};
// Runs `body` at points of the check's axes. The size of the run sets the number of points. If the run names a
// point, only that point runs. Every failure names its point. skip() in `body` skips only this point. If all
// points are skipped, the check is skipped. After three failed points, the remaining points do not run.
void at_each_point(const std::function<void(const Point& at)>& body);
// The text after '/' in the name of a check of PROCTOR_CHECK_EACH.
const std::string& parameter();

// Reports a failure if the two texts differ. `what` names the compared value.
void expect_same(const std::string& what, const std::string& expected, const std::string& got,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE());
void expect_true(bool condition, const std::string& what, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE());

#define PROCTOR_CHECK(group, name, rule, source, severity, ...)                               \
  namespace {                                                                                 \
  class group##_##name final : public ::proctor::suite::Check {                               \
    void body() override;                                                                     \
  };                                                                                          \
  [[maybe_unused]] const bool group##_##name##_added =                                        \
      ::proctor::suite::add_check({#group, #name, rule, source, severity, __FILE__, __LINE__, \
                                   ::proctor::suite::CheckTraits{__VA_ARGS__}},               \
                                  [] { return new group##_##name; });                         \
  }                                                                                           \
  void group##_##name::body()

// Registers one case for each text in `parameters`, named group.name/TEXT. `parameters` is any range of texts, in
// parentheses if it contains a comma.
#define PROCTOR_CHECK_EACH(parameters, group, name, rule, source, severity, ...)                          \
  namespace {                                                                                             \
  class group##_##name final : public ::proctor::suite::Check {                                           \
    void body() override;                                                                                 \
  };                                                                                                      \
  [[maybe_unused]] const bool group##_##name##_added = [] {                                               \
    bool added = false;                                                                                   \
    for (const auto& parameter_ : parameters) {                                                           \
      added = ::proctor::suite::add_check(                                                                \
          {#group, std::string(#name "/").append(parameter_), rule, source, severity, __FILE__, __LINE__, \
           ::proctor::suite::CheckTraits{__VA_ARGS__}},                                                   \
          [] { return new group##_##name; });                                                             \
    }                                                                                                     \
    return ::proctor::suite::require_added(added, #group "." #name);                                      \
  }();                                                                                                    \
  }                                                                                                       \
  void group##_##name::body()

// Properties of all checks of a suite.
struct SuiteTraits {
  std::vector<std::string> needs = {};  // in addition to the check's own needs
  // Each check first compares the visible devices with its lease (lease_check.h).
  VisibleDevices visible = nullptr;
  bool batch = false;  // checks that run one after the other in a process do not affect each other
};

// The main() of every suite. It accepts --proctor-list, --proctor-case=NAME, --proctor-cases=FILE and GoogleTest's own
// options.
int run_main(int argc, char** argv, const SuiteTraits& traits = {});

// The name of the measure that observe() writes. `part` is a word that names one number of the result.
inline std::string observation(std::string_view question, std::string_view part) {
  return std::string("observed: ").append(question).append(" -> ").append(part);
}

// Records the behaviour of a device for which no document has a rule. The result is a measure in the report.
// suites/hardware/observed.py makes a table of drivers from these measures. Checks assert the behaviour only on
// the simulator.
//
//   observe("cudaDeviceCanAccessPeer(0, 0)", "reachable", 0, "bool");
inline void observe(std::string_view question, std::string_view part, double value, std::string_view unit) {
  measure(observation(question, part), value, unit);
}

}  // namespace proctor::suite

// Axes that several checks share, with values at which drivers and devices have failed before
// (docs/reference/axes.md). If only one check uses an axis, the axis is in that check.
//
// The pages of a driver are 4 KiB, 64 KiB or 2 MiB. The pages of simgpu are 64 KiB.
namespace proctor::suite::axis {

// Sizes in bytes: 0, 1, odd sizes, and sizes around the ends of pages. Sizes over 32 bits are tried only with all
// points.
inline Axis bytes(std::string name = "bytes") {
  return {std::move(name),
          {"0", "1", "3", "4095", "4096", "4097", "65535", "65536", "65537", "262147", "2097152", "2097153"},
          {"67108867", "4294967301"}};
}

// Offsets within 16 bytes.
inline Axis offset(std::string name = "offset") {
  return {std::move(name), {"0", "1", "2", "3", "4", "5", "7", "8", "11", "12", "13", "15"}, {}};
}

}  // namespace proctor::suite::axis
