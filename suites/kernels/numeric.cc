#include "suites/kernels/numeric.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace proctor::kernels {
namespace {

// One unit in the last place at `reference`, for a type with `digits` of mantissa and smallest exponent `lowest`.
template <typename Wide>
Wide ulp_at(Wide reference, int digits, int lowest) {
  const int exponent = reference == 0 ? lowest : std::max(std::ilogb(reference), lowest);
  return std::scalbn(Wide{1}, exponent - (digits - 1));
}

template <typename Narrow, typename Wide>
double distance(Wide reference, Narrow got) {
  using Limits = std::numeric_limits<Narrow>;
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (std::isnan(reference)) return std::isnan(got) ? 0 : kFar;
  if (std::isnan(got)) return kFar;
  if (std::isinf(reference)) return static_cast<Wide>(got) == reference ? 0 : kFar;
  Wide value = got;
  if (std::isinf(got)) value = std::copysign(std::scalbn(Wide{1}, Limits::max_exponent), value);
  return static_cast<double>(std::fabs(value - reference) /
                             ulp_at(reference, Limits::digits, Limits::min_exponent - 1));
}

}  // namespace

double ulp_distance(double reference, float got) { return distance(reference, got); }
double ulp_distance(long double reference, double got) { return distance(reference, got); }

double half_ulp_distance(double reference, std::uint16_t got) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  const double value = static_cast<double>(float_from_half(got));
  if (std::isnan(reference) || std::isnan(value))
    return std::isnan(reference) && std::isnan(value) ? 0 : kFar;
  if (std::isinf(reference)) return value == reference ? 0 : kFar;
  const double finite = std::isinf(value) ? std::copysign(0x1p16, value) : value;
  return std::fabs(finite - reference) / ulp_at(reference, 11, -14);
}

bool is_denormal_float(double reference) {
  return reference != 0 && std::fabs(reference) < static_cast<double>(std::numeric_limits<float>::min());
}

std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);  // halfway to 2^16 rounds up
  // In units of the last place at this magnitude. The default rounding mode of nearbyint() is to nearest even.
  const int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::scalbn(magnitude, 10 - exponent)));
  // A carry out of the mantissa correctly increases the exponent.
  return static_cast<std::uint16_t>(sign | ((static_cast<std::uint32_t>(exponent + 14) << 10) + steps));
}

float float_from_half(std::uint16_t half) {
  const int exponent = half >> 10 & 0x1f;
  const int mantissa = half & 0x3ff;
  float magnitude = 0;
  if (exponent == 0x1f) {
    magnitude =
        mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::scalbn(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::scalbn(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

double rounding_bound(std::size_t roundings) {
  const double nu = static_cast<double>(roundings) * 0x1p-24;
  return nu / (1 - nu);
}

std::string first_over_bound(std::span<const Judged> expected, std::span<const float> got,
                             std::size_t roundings) {
  if (expected.size() != got.size())
    return fmt::format("{} elements instead of {}", got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    // The smallest denormal number is the error of a result that underflows.
    const double bound = rounding_bound(roundings) * expected[i].weight + 0x1p-149;
    const double error = std::fabs(static_cast<double>(got[i]) - expected[i].reference);
    if (error <= bound) continue;
    return fmt::format(
        "element {}: {:.9g} instead of {:.9g}, error {:.3g} over the bound {:.3g} = g({}) * {:.3g}", i,
        got[i], expected[i].reference, error, bound, roundings, expected[i].weight);
  }
  return {};
}

namespace {

// Constant, because checks are registered with these names before main(). One expression serves both precisions.
#define ROW(name, which, single, double_, cuda_single, cuda_double, low, high, expression)              \
  MathFunction {                                                                                        \
    name, which, {single, double_}, {cuda_single, cuda_double}, low, high,                              \
        []([[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> double { \
          return expression;                                                                            \
        },                                                                                              \
        []([[maybe_unused]] long double a, [[maybe_unused]] long double b,                              \
           [[maybe_unused]] long double c) -> long double { return expression; }                        \
  }

// clang-format off
constexpr MathFunction kTable[] = {
    //   name      no  OpenCL    CUDA    arguments      reference
    //                 f32  f64  f32 f64
    ROW("add",       0,    0,   0,  0,  0,  -1e6,  1e6,   a + b),
    ROW("subtract",  1,    0,   0,  0,  0,  -1e6,  1e6,   a - b),
    ROW("multiply",  2,    0,   0,  0,  0,  -1e6,  1e6,   a * b),
    ROW("divide",    3,  2.5,   0,  0,  0,  -1e6,  1e6,   a / b),
    ROW("fma",       4,    0,   0,  0,  0,  -1e3,  1e3,   std::fma(a, b, c)),
    ROW("sqrt",      5,    3,   0,  0,  0,     0,    1e9,   std::sqrt(a)),
    ROW("exp",       6,    3,   3,  2,  1,   -80,   80,    std::exp(a)),
    ROW("log",       7,    3,   3,  1,  1,  1e-6, 1e6,   std::log(a)),
    ROW("sin",       8,    4,   4,  2,  2,  -100,  100,   std::sin(a)),
    ROW("cos",       9,    4,   4,  2,  2,  -100,  100,   std::cos(a)),
    ROW("tan",      10,    5,   5,  4,  2,  -100,  100,   std::tan(a)),
    ROW("pow",      11,   16,  16,  4,  2,  0.01, 20,    std::pow(a, b)),
    ROW("tanh",     12,    5,   5,  2,  2,   -12,   12,    std::tanh(a)),
    ROW("rsqrt",    13,    2,   2,  2,  1,  1e-6, 1e6,   1 / std::sqrt(a)),
    ROW("erf",      14,   16,  16,  2,  2,    -4,    4,     std::erf(a)),
    ROW("exp2",     15,    3,   3,  2,  1,  -100,  100,   std::exp2(a)),
    ROW("log2",     16,    3,   3,  1,  1,  1e-6, 1e6,   std::log2(a)),
    ROW("atan2",    17,    6,   6,  3,  2,   -10,   10,    std::atan2(a, b)),
    ROW("cbrt",     18,    2,   2,  1,  1,  -1e6,  1e6,   std::cbrt(a)),
    ROW("hypot",    19,    4,   4,  3,  2,  -1e6,  1e6,   std::hypot(a, b)),
    ROW("floor",    20,    0,   0,  0,  0,  -1e6,  1e6,   std::floor(a)),
    ROW("ceil",     21,    0,   0,  0,  0,  -1e6,  1e6,   std::ceil(a)),
    ROW("trunc",    22,    0,   0,  0,  0,  -1e6,  1e6,   std::trunc(a)),
    ROW("rint",     23,    0,   0,  0,  0,  -1e3,  1e3,   std::nearbyint(a)),
    ROW("fabs",     24,    0,   0,  0,  0,  -1e6,  1e6,   std::fabs(a)),
    ROW("fmin",     25,    0,   0,  0,  0,  -1e6,  1e6,   std::fmin(a, b)),
    ROW("fmax",     26,    0,   0,  0,  0,  -1e6,  1e6,   std::fmax(a, b)),
    ROW("fmod",     27,    0,   0,  0,  0,  -1e3,  1e3,   std::fmod(a, b)),
    ROW("copysign", 28,    0,   0,  0,  0,  -1e6,  1e6,   std::copysign(a, b)),
    ROW("negate",   29,    0,   0,  0,  0,  -1e6,  1e6,   -a),
};
// clang-format on

}  // namespace

std::span<const MathFunction> math_functions() { return kTable; }

const MathFunction& math_function(std::string_view name) {
  for (const MathFunction& row : kTable) {
    if (row.name == name) return row;
  }
  throw std::out_of_range("no function " + std::string(name));
}

}  // namespace proctor::kernels
