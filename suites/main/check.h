// How a conformance check is written. Example:
//
//   std::string devices_under(const std::string& mask);
//
//   PROCTOR_CHECK(Mask, DuplicatesSelectOnce, "V10", "intel/compute-runtime parseAffinityMask", kWarn) {
//     const std::string expected = devices_under("0");
//     step("enumerate under '0,0'");
//     const std::string got = devices_under("0,0");
//     expect_same("what '0,0' selects", expected, got);
//   }
//
// It is a GoogleTest test named Mask.DuplicatesSelectOnce that also knows its rule, the rule's source and how
// serious a failure is, and that tells Proctor what happens (harness/core/child_protocol.h). Run by hand it
// is an ordinary GoogleTest binary.
//
// skip() and fail_because() end the check from any depth. Any other exception is a failure.
//
// What else is known of a check follows as trailing arguments, in the order of the members of CheckTraits.
// Example:
//
//   PROCTOR_CHECK(Copy, IsByteExact, "M22", "Level Zero specification, Copies", kGate,
//                 .faults = {"memory.corrupt_copy:at=17"}, .needs = {"fp64"},
//                 .sizes = {.smoke = 4096, .ci = 65536, .unit = "bytes"}) {
//     const std::int64_t bytes = sized();  // as many as the run's --size asks for
//     expect_true(bytes > 0, "there is something to copy");
//   }
//
// A check's set-up ends with its first step(): a simulator fault counts as the cause of its failure only if
// it fired after that. A check without steps has no set-up.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "suites/main/require_added.h"

// A bare TEST has no rule and turns a lost exception into noise.
#undef TEST
#undef TEST_F
#define TEST(...) static_assert(false, "use PROCTOR_CHECK")
#define TEST_F(...) static_assert(false, "use PROCTOR_CHECK")

namespace proctor::suite {

// What a failure means. gate: the specification demands it; warn: the vendor documents
// or tests it; info: recorded.
enum class Severity { kGate, kWarn, kInfo };
std::string_view to_string(Severity severity);

inline constexpr Severity kGate = Severity::kGate;
inline constexpr Severity kWarn = Severity::kWarn;
inline constexpr Severity kInfo = Severity::kInfo;

// How a fault ends a check that fails otherwise than by an assertion: no end in time, a lost device, an abort
// of the process.
enum class Expects { kFail, kHang, kLost, kAbort };
std::string_view to_string(Expects expects);

inline constexpr Expects kFail = Expects::kFail;
inline constexpr Expects kHang = Expects::kHang;
inline constexpr Expects kLost = Expects::kLost;
inline constexpr Expects kAbort = Expects::kAbort;

// How much a check does under each --size. 0, not given: as much as under the next smaller one that is, or
// under the smallest of all.
struct Sizes {
  std::int64_t smoke = 0;
  std::int64_t ci = 0;
  std::int64_t full = 0;
  std::int64_t stress = 0;
  std::string unit = {};  // "bytes", "elements", "launches"
};

struct CheckTraits {
  // Faults of the simulator, as PROCTOR_SIM_FAULTS takes one ("memory.corrupt_copy:at=17"), under each of
  // which this check must fail. The cheapest first.
  std::vector<std::string> faults = {};
  int devices = 1;  // how many devices the check leases; with ranks, each of them
  // How many processes execute the check at the same time, each a rank of it; 0: one, which is no rank.
  int ranks = 0;
  // What else it skips without: "tiles>=2", "fp64", "symbol:zesInit".
  std::vector<std::string> needs = {};
  Sizes sizes = {};
  Expects expects = kFail;
};

struct CheckInfo {
  std::string group;
  std::string name;    // of a parametrized check with "/PARAMETER" behind it
  std::string rule;    // "V10"
  std::string source;  // public document or code that the rule comes from
  Severity severity = kGate;
  const char* file = "";
  int line = 0;
  CheckTraits traits = {};

  std::string full_name() const { return group + "." + name; }
};

class Check : public testing::Test {
 protected:
  // The check itself.
  virtual void body() = 0;

 private:
  void TestBody() final;
};

// Registers one check; tables call it in a loop before main runs the tests. A second one of the same name
// aborts the program: two cases with one id would share one verdict.
bool add_check(CheckInfo info, std::function<Check*()> make);

// ---- inside a check ----

void step(std::string_view what);
void measure(std::string_view name, double value, std::string_view unit, std::int64_t n = 1,
             double spread = 0);
void warn(std::string_view message);

// skip("needs:devices>=2"), skip("symbol_missing:zesInit"), skip("unsupported:fp64")
[[noreturn]] void skip(std::string reason);

// A failure with everything that a report can show. Execution goes on. A rule of severity warn or info is
// only warned of on hardware and on a vendor's driver, unless there is a machine-readable `reason`: a driver
// that crashes is never a matter of opinion.
struct Mismatch {
  std::string message{};
  std::string expected{};
  std::string got{};
  std::string device{};
  std::string reason{};  // machine-readable: the case becomes fail(reason)
};
void report(Mismatch mismatch, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// Ends the check as fail(reason), e.g. fail_because("driver_crash:11", "zeInit under ',0'").
[[noreturn]] void fail_because(std::string reason, std::string message, const char* file = __builtin_FILE(),
                               int line = __builtin_LINE());

// This rank ends as `how` says ("signal:9", "exit:3", "ended" by the runner once the others are through),
// because the check wants it to: not a failure, if it comes so.
void leave(std::string_view how);

// Whether the devices are simgpu's own, where every rule is ours (PROCTOR_SIM_DRIVER says so).
bool on_simgpu();
// How much to do: the check's own Sizes under the run's --size. 0 when it has none.
std::int64_t sized();
// What stands behind '/' in the name of a check of PROCTOR_CHECK_EACH.
const std::string& parameter();

// Reports when the two differ; `what` names what was compared.
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

// One case per text in `parameters` (any range of texts, in parentheses if it contains a
// comma), named group.name/TEXT.
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

// main() of every suite: understands --proctor-list and --proctor-case=NAME, else GoogleTest's own options.
// `needs`: what each check of the suite needs, on top of its own.
int run_main(int argc, char** argv, const std::vector<std::string>& needs = {});

}  // namespace proctor::suite
