// Functions of 16-bit floats, each within the error that OpenCL C allows it.
#include <fmt/format.h>

#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/math_table.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

constexpr const char* kHalfUlp = by_vendor(
    "OpenCL C specification, ULP values for half precision built-in functions; OpenCL-CTS, math_brute_force",
    "ours: the ULP values that OpenCL C has for half precision");
constexpr std::uint32_t kHalfCount = 4096;

struct HalfRow {
  const char* function;
  double ulps;
  float low, high;  // arguments are taken from here; results stay finite
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

PROCTOR_CHECK_EACH(half_functions(), Math, HalfFunctionIsWithinItsUlps, "K22", kHalfUlp,
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
