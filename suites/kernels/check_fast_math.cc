// Functions of a module that was compiled for speed: bounded too, by rules of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/math_table.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::step;

constexpr std::uint32_t kFastCount = 4096;
constexpr float kPi = std::numbers::pi_v<float>;

// How far a result may be off at x: so many units in the last place, or so much in absolute terms.
struct Allowance {
  double ulps = 0;
  double absolute = 0;
};

struct FastRow {
  const char* function;
  float low, high;  // arguments are taken from here
  Allowance (*allowed)(double x);
};

Allowance of_logarithm(double x) {
  return x >= 0.5 && x <= 2 ? Allowance{.absolute = 0x1p-21} : Allowance{.ulps = 3};
}
Allowance of_exponential(double x) { return {.ulps = 3 + std::floor(std::fabs(2 * x))}; }
Allowance of_wave(double) { return {.absolute = 0x1p-11}; }
// It may be sin(x) * (1 / cos(x)), each as far off as it may be, or within its units.
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

// A NaN is within nothing.
bool within(const Allowance& allowed, double reference, float got) {
  return std::fabs(static_cast<double>(got) - reference) <= allowed.absolute ||
         kernels::ulp_distance(reference, got) <= allowed.ulps;
}

}  // namespace

PROCTOR_CHECK_EACH(fast_functions(), Math, FastFunctionIsWithinItsBound, "K23",
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
         .expected =
             fmt::format("{:.9g}, give or take {} ulp or {:.3g}", reference, allowed.ulps, allowed.absolute),
         .got = fmt::format("{:.9g}", got[i]),
         .device = describe(context.device())});
  }
}

}  // namespace proctor::accel
