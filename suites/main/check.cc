#include "suites/main/check.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "harness/journal/child_protocol.h"
#include "suites/main/session.h"
#include "suites/main/skipped.h"

namespace proctor::suite {
namespace {

// Thrown by fail_because(), caught in TestBody().
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

// at_each_point() and the points at which a check runs.

namespace {

constexpr std::size_t kMostFailedPoints = 3;
constexpr int kUsage = 2;

[[noreturn]] void refuse(const std::string& what) {
  std::cerr << what << "\n";
  std::exit(kUsage);
}

std::size_t most_points(const CheckTraits& traits, const std::string& size) {
  const auto of_ci = static_cast<std::size_t>(traits.points);
  if (size == "smoke") return (of_ci + 3) / 4;
  return size == "ci" ? of_ci : static_cast<std::size_t>(-1);
}

}  // namespace

std::uint64_t seed() {
  const char* text = std::getenv(child::kSeedVariable);
  const std::string_view asked = text != nullptr ? text : "";
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), number);
  if (!asked.empty() && (error != std::errc() || end != asked.data() + asked.size()))
    refuse(std::string(child::kSeedVariable) + "='" + text + "' is not a number");
  return number;
}

const std::string& Point::text(std::string_view axis) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == axis) return row_[i];
  }
  throw std::out_of_range("the check has no axis '" + std::string(axis) + "'");
}

std::int64_t Point::number(std::string_view axis) const {
  const std::string& value = text(axis);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size())
    throw std::out_of_range("'" + value + "' of axis '" + std::string(axis) + "' is not a number");
  return number;
}

void at_each_point(const std::function<void(const Point& at)>& body) {
  Session& session = Session::get();
  const CheckTraits traits = session.current() != nullptr ? session.current()->traits : CheckTraits{};
  const std::string& size = session.size();
  const char* const asked = std::getenv(child::kPointVariable);
  const bool one = asked != nullptr && *asked != '\0';
  std::vector<Axis> axes = traits.axes;
  if (one) {
    auto only = axes_at(axes, asked, "this check");
    if (!only) refuse("failed to " + only.error().what);
    axes = *std::move(only);
  } else if (size == "full" || size == "stress") {
    axes = full_axes(axes);
  }
  const PairTable table =
      cover_pairs(axes, seed(), one ? static_cast<std::size_t>(-1) : most_points(traits, size));

  std::string skipped;  // the reason of the first skipped point
  std::size_t tried = 0;
  std::size_t failed = 0;
  std::string left_out;
  for (const auto& row : table.rows) {
    if (failed == kMostFailedPoints) {
      left_out += "; the other points were not run, because three had failed";
      break;
    }
    const std::string name = point_text(axes, row);
    step("at " + name);
    const std::size_t failures = session.failures();
    session.set_point(name);
    try {
      body(Point(axes, row));
      ++tried;
    } catch (const Skipped& reason) {
      if (skipped.empty()) skipped = reason.reason();
      left_out += "; not at " + name + ": " + reason.reason();
    } catch (const std::exception& error) {
      report({.message = std::string("exception: ") + error.what(), .reason = kException});
    }
    session.set_point("");
    if (session.failures() > failures) ++failed;
  }
  session.emit("property",
               {{"name", "points"},
                {"value", std::to_string(tried) + " points run, which cover " +
                              std::to_string(table.covered) + " of " + std::to_string(table.pairs) +
                              (axes.size() == 1 ? " values" : " pairs of values") + left_out}});
  if (tried == 0 && failed == 0 && !skipped.empty()) skip(skipped);
}

}  // namespace proctor::suite
