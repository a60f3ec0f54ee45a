#include "harness/base/failure_rate.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace proctor {
namespace {

constexpr double kRateTail = 0.025;  // probability on each side of a 95 % interval
constexpr double kInPercent = 100;

// Parses "99%" to 0.99. The number is parsed with an exponent, because a division is less exact: 99.9 / 100
// is not 0.999.
std::optional<double> read_share(std::string_view text) {
  const std::string_view percent = text.substr(0, text.find('%'));
  if (percent.size() + 1 != text.size() || percent.find_first_not_of("0123456789.") != percent.npos)
    return std::nullopt;
  const std::string number = std::string(percent) + "e-2";
  double share = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), share);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  return whole && share > 0 && share < 1 ? std::optional(share) : std::nullopt;
}

// Returns a double, because the number can be greater than any int. kRounding keeps a whole number whole
// despite rounding errors.
double runs_needed(const Exclusion& exclusion) {
  constexpr double kRounding = 1e-9;
  return std::ceil(std::log1p(-exclusion.confidence) / std::log1p(-exclusion.rate) - kRounding);
}

}  // namespace

RateInterval wilson_interval(int failures, int runs) {
  constexpr double kZ = 1.959963984540054;  // the 97.5 % quantile of the normal distribution
  if (runs == 0) return {};
  const double n = runs;
  const double share = failures / n;
  const double middle = share + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  // If no run or every run fails, the bound is exact. The formula gives only an approximation.
  return {.low = failures == 0 ? 0 : (middle - half) / scale,
          .high = failures == runs ? 1 : (middle + half) / scale};
}

// Uses the geometric distribution. The bounds are the rates at which the first failure comes as early, or as
// late, with probability kRateTail.
RateInterval interval_of_first_failure(int run) {
  return {.low = -std::expm1(std::log1p(-kRateTail) / run),
          .high = run == 1 ? 1 : -std::expm1(std::log(kRateTail) / (run - 1))};
}

Result<Exclusion> parse_exclusion(std::string_view text) {
  const std::string hint = "For example 99%:1% excludes a failure rate of 1 % with 99 % confidence.";
  const auto colon = text.find(':');
  const auto confidence = read_share(text.substr(0, colon));
  const auto rate = colon == text.npos ? std::nullopt : read_share(text.substr(colon + 1));
  if (!confidence || !rate)
    return Error::refused(
        fmt::format("`{}` must be CONFIDENCE%:RATE%, two percentages between 0% and 100%", text), hint);
  const Exclusion exclusion{*confidence, *rate};
  if (runs_needed(exclusion) <= kMostExclusionRuns) return exclusion;
  return Error::refused(fmt::format("`{}` takes {:.0f} runs of each case, and at most {} are possible", text,
                                    runs_needed(exclusion), kMostExclusionRuns),
                        hint);
}

// The goal can come from a journal, which can contain any value, including NaN.
int runs_to_exclude(const Exclusion& exclusion) {
  const double runs = runs_needed(exclusion);
  return runs >= 1 && runs <= kMostExclusionRuns ? static_cast<int>(runs) : kMostExclusionRuns;
}

std::string_view to_string(Claim claim) {
  switch (claim) {
    case Claim::kOpen:
      return "open";
    case Claim::kExcluded:
      return "excluded";
    case Claim::kNotExcluded:
      return "not_excluded";
  }
  return "open";
}

Claim claim_of(int needed, int runs, int failures) {
  if (failures > 0) return Claim::kNotExcluded;
  return runs >= needed ? Claim::kExcluded : Claim::kOpen;
}

std::string percent_text(double share) {
  const double percent = share * kInPercent;
  const int digits = percent >= 9.95 ? 0 : percent >= 0.995 ? 1 : percent >= 0.0995 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", percent, digits);
  if (digits == 0) return text;
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace proctor
