#include "suites/main/check.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "harness/journal/child_protocol.h"
#include "suites/main/session.h"
#include "suites/main/skipped.h"

namespace proctor::suite {
namespace {

// Thrown by fail_because(), caught in TestBody.
struct Ended {};

}  // namespace

void Check::TestBody() {
  try {
    if (const std::string difference = Session::get().difference_from_lease(); !difference.empty()) {
      Session::get().end_as_error("mask_mismatch");
      return report({.message = difference, .reason = "mask_mismatch"});
    }
    body();
  } catch (const Skipped& skipped) {
    Session::get().skip(skipped.reason());
    GTEST_SKIP() << skipped.reason();
  } catch (const Ended&) {
    // fail_because() has reported the failure.
  } catch (const std::exception& error) {
    report({.message = std::string("exception: ") + error.what(), .reason = kException});
  }
}

bool add_check(CheckInfo info, std::function<Check*()> make) {
  Session::get().add(info);
  testing::RegisterTest(info.group.c_str(), info.name.c_str(), nullptr, nullptr, info.file, info.line,
                        [make = std::move(make)] { return make(); });
  return true;
}

bool require_added(bool added, const char* name) {
  if (added) return true;
  std::fprintf(stderr, "%s: its table has no rows when it is registered\n", name);
  std::abort();
}

void step(std::string_view what) { Session::get().emit_timed("step", {{"name", what}}); }

void measure(std::string_view name, double value, std::string_view unit, std::int64_t n, double spread) {
  Session::get().emit("measure",
                      {{"name", name}, {"value", value}, {"unit", unit}, {"n", n}, {"spread", spread}});
}

void record(std::string_view name, std::string_view value) {
  Session::get().emit("property", {{"name", name}, {"value", value}});
}

void trial(const std::vector<TrialDevice>& devices, bool ok) {
  constexpr std::size_t kMostOfAName = 300;
  nlohmann::json all = nlohmann::json::array();
  for (const TrialDevice& each : devices)
    all.push_back({{"role", each.role}, {"device", shortened(each.device, kMostOfAName)}});
  Session::get().emit("trial", {{"ok", ok}, {"devices", std::move(all)}});
}

void warn(std::string_view message) { Session::get().emit("warn", {{"message", message}}); }

void leave(std::string_view how) { Session::get().emit("leave", {{"how", how}}); }

void skip(std::string reason) { throw Skipped(std::move(reason)); }

void report(Mismatch mismatch, const char* file, int line) {
  if (const std::string& point = Session::get().point(); !point.empty())
    mismatch.message = "--suite-arg point=" + point + ": " + mismatch.message;
  std::string text = mismatch.message;
  if (!mismatch.expected.empty() || !mismatch.got.empty()) {
    text += "\n  expected: " + mismatch.expected + "\n       got: " + mismatch.got;
  }
  if (!mismatch.reason.empty()) text += "\n  reason: " + mismatch.reason;
  const CheckInfo* info = Session::get().current();
  const bool ours = info == nullptr || info->severity == kGate || on_simgpu();
  const bool opinion = mismatch.reason.empty() || mismatch.reason == kException;
  if (!ours && opinion) return warn(text);
  // The listener makes an event of the assertion. This adds the details that the assertion does not contain.
  Session::get().expect_failure(std::move(mismatch));
  ADD_FAILURE_AT(file, line) << text;
}

bool on_simgpu() {
  const char* driver = std::getenv(child::kSimDriverVariable);
  return driver != nullptr && std::strcmp(driver, child::kSimgpuDriver) == 0;
}

std::int64_t sized() {
  const CheckInfo* info = Session::get().current();
  if (info == nullptr) return 0;
  const Sizes& sizes = info->traits.sizes;
  std::int64_t amount = 0;
  for (const auto& [name, value] : {std::pair<std::string_view, std::int64_t>{"smoke", sizes.smoke},
                                    {"ci", sizes.ci},
                                    {"full", sizes.full},
                                    {"stress", sizes.stress}}) {
    if (value != 0) amount = value;
    if (name == Session::get().size() && amount != 0) break;
  }
  return amount;
}

const std::string& parameter() { return Session::get().parameter(); }

void fail_because(std::string reason, std::string message, const char* file, int line) {
  report({.message = std::move(message), .reason = std::move(reason)}, file, line);
  throw Ended{};
}

void expect_same(const std::string& what, const std::string& expected, const std::string& got,
                 const char* file, int line) {
  if (expected == got) return;
  report({.message = what, .expected = expected, .got = got}, file, line);
}

void expect_true(bool condition, const std::string& what, const char* file, int line) {
  if (!condition) report({.message = what, .expected = "true", .got = "false"}, file, line);
}

}  // namespace proctor::suite
