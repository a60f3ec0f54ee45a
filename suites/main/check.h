// How a conformance check is written:
//
//   PROCTOR_CHECK(Mask, DuplicatesSelectOnce, "V10", "intel/compute-runtime parseAffinityMask", kRobust) {
//     step("enumerate under '0,0'");
//     ...
//     expect_same("what '0,0' selects", expected, got);
//   }
//
// It is a GoogleTest test named Mask.DuplicatesSelectOnce that also knows its rule, the rule's source and how
// serious a failure is, and that tells Proctor what happens (harness/core/child_protocol.h). Run by hand it
// is an ordinary GoogleTest binary.
//
// skip() and fail_because() end the check from any depth. Any other exception is a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

// A bare TEST has no rule and turns a lost exception into noise.
#undef TEST
#undef TEST_F
#define TEST(...) static_assert(false, "use PROCTOR_CHECK")
#define TEST_F(...) static_assert(false, "use PROCTOR_CHECK")

namespace proctor::suite {

// What a failure means. gate: the specification demands it; warn: the vendor documents or tests it; info:
// recorded.
enum class Severity { kGate, kWarn, kInfo };
std::string_view to_string(Severity severity);

inline constexpr Severity kGate = Severity::kGate;
inline constexpr Severity kWarn = Severity::kWarn;
inline constexpr Severity kInfo = Severity::kInfo;

struct CheckInfo {
  std::string group;
  std::string name;
  std::string rule;    // "V10"
  std::string source;  // public document or code that the rule comes from
  Severity severity = kGate;
  int devices = 0;  // how many devices the check leases
  const char* file = "";
  int line = 0;

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

// A failure with everything that a report can show. Execution goes on.
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

// Reports when the two differ; `what` names what was compared.
void expect_same(const std::string& what, const std::string& expected, const std::string& got,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE());
void expect_true(bool condition, const std::string& what, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE());

// A check that leases `devices` devices.
#define PROCTOR_CHECK_ON(devices, group, name, rule, source, severity)                                  \
  namespace {                                                                                           \
  class group##_##name final : public ::proctor::suite::Check {                                         \
    void body() override;                                                                               \
  };                                                                                                    \
  [[maybe_unused]] const bool group##_##name##_added =                                                  \
      ::proctor::suite::add_check({#group, #name, rule, source, severity, devices, __FILE__, __LINE__}, \
                                  [] { return new group##_##name; });                                   \
  }                                                                                                     \
  void group##_##name::body()

#define PROCTOR_CHECK(group, name, rule, source, severity) \
  PROCTOR_CHECK_ON(1, group, name, rule, source, severity)

// main() of every suite: understands --proctor-list and --proctor-case=NAME, else GoogleTest's own options.
int run_main(int argc, char** argv);

}  // namespace proctor::suite
