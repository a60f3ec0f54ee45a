// Checks of functions in modules that are compiled for speed. Separate rules bound their errors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::step;

constexpr std::uint32_t kFastCount = 4096;
constexpr float kPi = std::numbers::pi_v<float>;

// The allowed error at x: units in the last place, or an absolute error. One of them is sufficient.
struct Allowance {
  double ulps = 0;
  double absolute = 0;
};

struct FastRow {
  const char* function;
  float low, high;  // the range of the arguments
  Allowance (*allowed)(double x);
};

Allowance of_logarithm(double x) {
  return x >= 0.5 && x <= 2 ? Allowance{.absolute = 0x1p-21} : Allowance{.ulps = 3};
}
Allowance of_exponential(double x) { return {.ulps = 3 + std::floor(std::fabs(2 * x))}; }
Allowance of_wave(double) { return {.absolute = 0x1p-11}; }
// The function may be computed as sin(x) * (1 / cos(x)), each within its own error, or within a number of units.
Allowance of_tangent(double x) {
  return {.ulps = 8192, .absolute = 0x1p-10 * (1 + std::fabs(std::tan(x))) / std::fabs(std::cos(x))};
}

const FastRow kFastRows[] = {
    {"divide", 1, 1e6f, [](double) { return Allowance{.ulps = 2.5}; }},
    {"exp", -40, 40, of_exponential},
    {"exp2", -60, 60, of_exponential},
    {"log", 1e-3f, 8, of_logarithm},
    {"log2", 1e-3f, 8, of_logarithm},
    {"sin", -kPi, kPi, of_wave},
    {"cos", -kPi, kPi, of_wave},
    {"tan", -1.5f, 1.5f, of_tangent},
    {"pow", 0.01f, 20, [](double) { return Allowance{.ulps = 8192}; }},
};

std::vector<std::string> fast_functions() {
  std::vector<std::string> names;
  for (const FastRow& row : kFastRows) names.emplace_back(row.function);
  return names;
}

std::vector<float> arguments_of(const FastRow& row, std::uint64_t seed) {
  std::vector<float> values;
  for (const std::uint32_t word : noise_words(kFastCount, seed)) {
    values.push_back(row.low + (row.high - row.low) * (static_cast<float>(word) * 0x1p-32f));
  }
  return values;
}

// A NaN is never within the bound.
bool within(const Allowance& allowed, double reference, float got) {
  return std::fabs(static_cast<double>(got) - reference) <= allowed.absolute ||
         kernels::ulp_distance(reference, got) <= allowed.ulps;
}

}  // namespace

PROCTOR_CHECK_EACH(fast_functions(), Math, FastMathFunctionIsWithinBound, "K23",
                   by_vendor("OpenCL C specification, relative error with -cl-fast-relaxed-math; OpenCL-CTS "
                             "math_brute_force",
                             "CUDA Programming Guide, Intrinsic Functions: errors that are within these"),
                   suite::kGate, {"kernel.wrong_result:arg=3,at=7,xor=0x40"}) {
  const auto context = leased();
  Queue queue(context);
  const FastRow& row = *std::find_if(std::begin(kFastRows), std::end(kFastRows),
                                     [](const FastRow& each) { return each.function == suite::parameter(); });
  const kernels::MathFunction& function = kernels::math_function(row.function);
  const Module module = Module::load(context, "fast_floats");
  const auto x = arguments_of(row, 1), y = arguments_of(row, 2);
  const auto a = device_copy(queue, context, x), b = device_copy(queue, context, y);
  const Buffer out = device_memory(context, kFastCount * sizeof(float));
  step(fmt::format("given {} arguments of {}", kFastCount, row.function));
  queue.launch(Kernel(module, "math"), cover(kFastCount, 64),
               arguments(a, b, b, out, function.which, kFastCount));
  queue.synchronize();
  const auto got = read_as<float>(queue, context, out);
  for (std::size_t i = 0; i < kFastCount; ++i) {
    const double reference = function.in_double(x[i], y[i], 0);
    const Allowance allowed = row.allowed(x[i]);
    if (within(allowed, reference, got[i])) continue;
    return suite::report(
        {.message = fmt::format("element {}: {}({:.9g}, {:.9g})", i, row.function, x[i], y[i]),
         .expected = fmt::format("{:.9g} within {} ulp or {:.3g}", reference, allowed.ulps, allowed.absolute),
         .got = fmt::format("{:.9g}", got[i]),
         .device = describe(context.device())});
  }
}

// Checks of functions of 16-bit floats. Each must be within the error that OpenCL C allows.

namespace {

constexpr const char* kHalfUlp = by_vendor(
    "OpenCL C specification, ULP values for half precision built-in functions; OpenCL-CTS, math_brute_force",
    "project rule: Half precision has the ULP values of OpenCL C.");
constexpr std::uint32_t kHalfCount = 4096;

struct HalfRow {
  const char* function;
  double ulps;
  float low, high;  // the range of the arguments; results stay finite
};
constexpr HalfRow kHalfRows[] = {
    {"exp", 2, -8, 8},          {"exp2", 2, -12, 12},    {"log", 2, 0.01f, 1000},
    {"log2", 2, 0.01f, 1000},   {"sin", 2, -30, 30},     {"cos", 2, -30, 30},
    {"tan", 2.5, -1.5f, 1.5f},  {"pow", 4, 0.1f, 4},     {"tanh", 2, -6, 6},
    {"rsqrt", 1, 0.001f, 1000}, {"erf", 4, -4, 4},       {"floor", 0, -1000, 1000},
    {"fmin", 0, -1000, 1000},   {"fabs", 0, -1000, 1000}};

std::vector<std::string> half_functions() {
  std::vector<std::string> names;
  for (const HalfRow& row : kHalfRows) names.emplace_back(row.function);
  return names;
}

std::vector<std::uint16_t> halves_of(const HalfRow& row, std::uint64_t seed) {
  std::vector<std::uint16_t> halves;
  for (const std::uint32_t word : noise_words(kHalfCount, seed)) {
    halves.push_back(
        kernels::half_from_float(row.low + (row.high - row.low) * (static_cast<float>(word) * 0x1p-32f)));
  }
  return halves;
}

}  // namespace

PROCTOR_CHECK_EACH(half_functions(), Math, HalfFunctionIsWithinUlpBound, "K22", kHalfUlp,
                   by_vendor(suite::kGate, suite::kWarn),
                   .faults = {"kernel.wrong_result:arg=3,at=3,xor=0x10"}, .needs = {"fp16"}) {
  const auto context = leased();
  need_exact_halves(context.device());
  Queue queue(context);
  const HalfRow& row = *std::find_if(std::begin(kHalfRows), std::end(kHalfRows),
                                     [](const HalfRow& each) { return each.function == suite::parameter(); });
  const kernels::MathFunction& function = kernels::math_function(row.function);
  const auto x = halves_of(row, 1), y = halves_of(row, 2);
  const Module module = Module::load(context, "halves");
  const auto a = device_copy(queue, context, x), b = device_copy(queue, context, y);
  const Buffer out = device_memory(context, kHalfCount * 2);
  suite::step(fmt::format("given {} arguments of {}", kHalfCount, row.function));
  queue.launch(Kernel(module, "math"), cover(kHalfCount, 64),
               arguments(a, b, b, out, function.which, kHalfCount));
  queue.synchronize();
  const auto got = read_as<std::uint16_t>(queue, context, out);
  double worst = 0;
  std::size_t where = 0;
  const auto value = [](std::uint16_t half) { return static_cast<double>(kernels::float_from_half(half)); };
  for (std::size_t i = 0; i < kHalfCount; ++i) {
    const double distance =
        kernels::half_ulp_distance(function.in_double(value(x[i]), value(y[i]), 0), got[i]);
    if (distance > worst) where = i;
    worst = std::max(worst, distance);
  }
  suite::measure(fmt::format("kernels.half_ulp.{}", row.function), worst, "ulp", kHalfCount);
  if (worst <= row.ulps) return;
  suite::report({.message = fmt::format("element {}: {}({}, {}) = {}", where, row.function, value(x[where]),
                                        value(y[where]), value(got[where])),
                 .expected = fmt::format("at most {} ulp", row.ulps),
                 .got = fmt::format("{:.4g} ulp", worst),
                 .device = describe(context.device())});
}

}  // namespace proctor::accel
