// The points at which a check runs.
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "harness/journal/child_protocol.h"
#include "suites/main/check.h"
#include "suites/main/session.h"
#include "suites/main/skipped.h"

namespace proctor::suite {
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
    refuse(std::string(child::kSeedVariable) + "='" + text + "' is no number");
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
    throw std::out_of_range("'" + value + "' of axis '" + std::string(axis) + "' is no number");
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
      left_out += "; the rest left out, since three had failed";
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
                {"value", std::to_string(tried) + " tried, which hold " + std::to_string(table.covered) +
                              " of " + std::to_string(table.pairs) +
                              (axes.size() == 1 ? " values" : " pairs of values") + left_out}});
  if (tried == 0 && failed == 0 && !skipped.empty()) skip(skipped);
}

}  // namespace proctor::suite
