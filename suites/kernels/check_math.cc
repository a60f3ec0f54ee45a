// Checks of floating point. Each function must be within the error that its language allows. Special values,
// denormal numbers and conversions must follow the rules.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using kernels::MathFunction;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kUlp =
    by_vendor("OpenCL C specification, relative error as ULPs; OpenCL-CTS, math_brute_force",
              "CUDA Programming Guide, Mathematical Functions: maximum ulp error");
constexpr const char* kEdge =
    by_vendor("OpenCL C specification, edge case behavior", "IEEE 754, 9.2.1 (special values of functions)");
constexpr std::uint32_t kCount = 4096;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
struct Inputs {
  std::vector<T> a, b, c;
};

// Pseudo-random arguments from the function's range. They are the same in every run.
template <typename T>
Inputs<T> inputs_of(const MathFunction& function) {
  const auto values = [&](std::uint64_t seed) {
    std::vector<T> result;
    for (const std::uint32_t word : noise_words(kCount, seed)) {
      result.push_back(static_cast<T>(function.low + (function.high - function.low) * (word * 0x1p-32)));
    }
    return result;
  };
  return {values(1), values(2), values(3)};
}

template <typename T>
std::vector<T> compute(const Context& context, const MathFunction& function, const Inputs<T>& in,
                       const std::string& flags = "") {
  Queue queue(context);
  const Module module = Module::load(context, sizeof(T) == 8 ? "doubles" : "floats", {.flags = flags});
  const auto a = device_copy(queue, context, in.a);
  const auto b = device_copy(queue, context, in.b);
  const auto c = device_copy(queue, context, in.c);
  const auto n = static_cast<std::uint32_t>(in.a.size());
  const Buffer out = device_memory(context, n * sizeof(T));
  queue.launch(Kernel(module, "math"), cover(n, 64), arguments(a, b, c, out, function.which, n));
  queue.synchronize();
  return read_as<T>(queue, context, out);
}

double reference(const MathFunction& f, float a, float b, float c) { return f.in_double(a, b, c); }
long double reference(const MathFunction& f, double a, double b, double c) {
  return f.in_long_double(a, b, c);
}

// The correctly rounded result: the wider result, rounded once. Functions whose wider result is already rounded
// are computed directly.
float rounded(const MathFunction& f, float a, float b, float c) {
  return f.name == "fma" ? std::fma(a, b, c) : static_cast<float>(f.in_double(a, b, c));
}
double rounded(const MathFunction& f, double a, double b, double c) {
  if (f.name == "fma") return std::fma(a, b, c);
  if (f.name == "add") return a + b;
  if (f.name == "subtract") return a - b;
  if (f.name == "multiply") return a * b;
  if (f.name == "divide") return a / b;
  if (f.name == "sqrt") return std::sqrt(a);
  return static_cast<double>(f.in_long_double(a, b, c));
}

template <typename T>
void expect_within_ulps(const Context& context, const MathFunction& function, double limit,
                        const Inputs<T>& in, const std::string& flags = "") {
  step(fmt::format("given {} arguments of {}", in.a.size(), function.name));
  const auto got = compute(context, function, in, flags);
  // CUDA's limits are distances from the rounded result, OpenCL's from the exact one.
  const double of_rounding = kVendor == Vendor::kNvidia && limit > 0 ? 0.5 : 0;
  double worst = 0;
  std::string problem;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const T a = in.a[i], b = in.b[i], c = in.c[i];
    double distance = 0;
    if (limit == 0) {
      const T expected = rounded(function, a, b, c);
      distance = got[i] == expected || (std::isnan(got[i]) && std::isnan(expected))
                     ? 0
                     : kernels::ulp_distance(reference(function, a, b, c), got[i]);
      if (got[i] != expected && !(std::isnan(got[i]) && std::isnan(expected)))
        distance = std::max(distance, 0x1p-10);
    } else {
      distance = kernels::ulp_distance(reference(function, a, b, c), got[i]);
    }
    if (distance > limit + of_rounding && problem.empty()) {
      problem =
          fmt::format("element {}: {}({:.17g}, {:.17g}, {:.17g}) = {:.17g}, should be {:.17g}", i,
                      function.name, a, b, c, got[i], static_cast<double>(reference(function, a, b, c)));
    }
    worst = std::max(worst, distance);
  }
  suite::measure(fmt::format("kernels.ulp.{}", function.name), worst, "ulp",
                 static_cast<std::int64_t>(got.size()));
  if (problem.empty()) return;
  suite::report({.message = problem,
                 .expected = limit == 0 ? "the correctly rounded result"
                                        : fmt::format("at most {} ulp", limit + of_rounding),
                 .got = fmt::format("{:.4g} ulp at worst", worst),
                 .device = describe(context.device())});
}

kernels::UlpLimits limits(const MathFunction& function) { return by_vendor(function.opencl, function.cuda); }

void expect_single(const char* name) {
  const MathFunction& function = kernels::math_function(name);
  expect_within_ulps(leased(), function, limits(function).in_single, inputs_of<float>(function));
}

void expect_double(const char* name) {
  const auto context = leased();
  need(context.device().properties().fp64, "unsupported:fp64");
  const MathFunction& function = kernels::math_function(name);
  expect_within_ulps(context, function, limits(function).in_double, inputs_of<double>(function));
}

// All rows of the table except those that have a separate check.
std::vector<std::string> math_function_names() {
  std::vector<std::string> names;
  for (const MathFunction& function : kernels::math_functions()) {
    if (function.which >= 5) names.emplace_back(function.name);
  }
  return names;
}

struct Special {
  const char* function;
  float a, b;
  float expected;
};

// Special values of OpenCL C, edge case behavior, and of IEEE 754.
const Special kSpecials[] = {
    {"add", kInf, -kInf, kNan},
    {"add", -0.0f, 0.0f, 0.0f},
    {"multiply", 0, kInf, kNan},
    {"divide", 1, 0, kInf},
    {"divide", -1, 0, -kInf},
    {"divide", 0, 0, kNan},
    {"sqrt", -1, 0, kNan},
    {"sqrt", -0.0f, 0, -0.0f},
    {"exp", -kInf, 0, 0},
    {"exp", kInf, 0, kInf},
    {"log", 0, 0, -kInf},
    {"log", -1, 0, kNan},
    {"log", 1, 0, 0},
    {"pow", kNan, 0, 1},
    {"pow", 1, kNan, 1},
    {"pow", 0, -1, kInf},
    {"pow", -2, 3, -8},
    {"pow", -2, 0.5f, kNan},
    {"fmin", kNan, 1, 1},
    {"fmin", 1, kNan, 1},
    {"fmax", kNan, -1, -1},
    {"fmin", kNan, kNan, kNan},
    {"sin", kInf, 0, kNan},
    {"cos", 0, 0, 1},
    {"tanh", kInf, 0, 1},
    {"erf", -kInf, 0, -1},
    {"rsqrt", 0, 0, kInf},
    {"floor", -0.5f, 0, -1},
    {"ceil", -0.5f, 0, -0.0f},
    {"trunc", -0.5f, 0, -0.0f},
    {"rint", 2.5f, 0, 2},
    {"rint", 3.5f, 0, 4},
    {"fmod", 5, 0, kNan},
    {"fmod", kInf, 1, kNan},
    {"hypot", kInf, kNan, kInf},
    {"copysign", 3, -0.0f, -3},
    {"fabs", -0.0f, 0, 0.0f},
    {"negate", 0, 0, -0.0f},
    {"atan2", 0, -0.0f, 3.14159265f},
    {"multiply", 3.4e38f, 10, kInf},
    {"exp2", -200, 0, 0},
    {"cbrt", -8, 0, -2},
};

bool same_special(float expected, float got) {
  if (std::isnan(expected)) return std::isnan(got);
  if (expected == 0 || std::isinf(expected))
    return std::bit_cast<std::uint32_t>(expected) == std::bit_cast<std::uint32_t>(got);
  return kernels::ulp_distance(static_cast<double>(expected), got) <= 16;
}

}  // namespace

PROCTOR_CHECK(Math, SumsAndProductsAreCorrectlyRounded, "K21", kUlp, kGate,
              {"kernel.wrong_result:arg=3,at=4"}) {
  for (const char* name : {"add", "subtract", "multiply"}) expect_single(name);
}

PROCTOR_CHECK(Math, FusedMultiplyAddRoundsOnce, "K21", kUlp, kGate, {"kernel.fma_unfused"}) {
  expect_single("fma");
}

PROCTOR_CHECK(Math, QuotientIsWithinUlpBound, "K21", kUlp, kGate,
              {"kernel.wrong_result:arg=3,at=6,xor=0x10"}) {
  expect_single("divide");
}

namespace {
constexpr const char* kDivision[] = {"divide", "sqrt"};
}

// OpenCL allows an error unless the module is built with the option. Triton builds its modules with it. Level Zero
// does not list the option among those that a driver must support.
PROCTOR_CHECK_EACH(
    kDivision, Math, DeclaredCorrectRoundingHolds, "K21",
    by_vendor("Level Zero specification, ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT; OpenCL C, build options",
              "CUDA Programming Guide, Mathematical Functions: maximum ulp error"),
    by_vendor(kWarn, kGate), .faults = {"kernel.wrong_result:arg=3,at=4"},
    .needs = {"fp32_rounded_division"}) {
  const auto context = leased();
  need(context.device().properties().fp32_rounded_division, "unsupported:fp32_rounded_division");
  const MathFunction& function = kernels::math_function(suite::parameter());
  expect_within_ulps(context, function, 0, inputs_of<float>(function),
                     by_vendor("-cl-fp32-correctly-rounded-divide-sqrt", ""));
}

PROCTOR_CHECK_EACH(math_function_names(), Math, FloatFunctionIsWithinUlpBound, "K22", kUlp, kGate,
                   {"kernel.wrong_result:arg=3,at=6,xor=0x10"}) {
  expect_single(suite::parameter().c_str());
}

namespace {

// Numbers of every magnitude up to 2^100, and the numbers below 2^24 that are nearest to multiples of pi / 2.
Inputs<float> large_angles() {
  Inputs<float> in;
  for (const std::uint32_t word : noise_words(2048, 5)) {
    const float size =
        std::ldexp(1.0f + static_cast<float>(word >> 9) * 0x1p-23f, static_cast<int>(word % 101));
    in.a.push_back(word & 0x100 ? size : -size);
  }
  for (int quarters = 1; quarters < 10'000'000; quarters += 5003) {
    in.a.push_back(static_cast<float>(quarters * 1.57079632679489661923));
  }
  in.b.resize(in.a.size());
  in.c.resize(in.a.size());
  return in;
}

constexpr const char* kPeriodic[] = {"sin", "cos", "tan"};

}  // namespace

PROCTOR_CHECK_EACH(kPeriodic, Math, LargeAngleIsWithinUlpBound, "K22", kUlp, kGate,
                   {"kernel.wrong_result:arg=3,at=6,xor=0x10"}) {
  const MathFunction& function = kernels::math_function(suite::parameter());
  expect_within_ulps(leased(), function, limits(function).in_single, large_angles());
}

PROCTOR_CHECK(Math, DoubleArithmeticIsCorrectlyRounded, "K28", kUlp, kGate, .faults = {"kernel.fp64_as_fp32"},
              .needs = {"fp64"}) {
  for (const char* name : {"add", "multiply", "divide", "fma", "sqrt"}) expect_double(name);
}

PROCTOR_CHECK(Math, DoubleFunctionsAreWithinUlpBound, "K28", kUlp, kGate, .faults = {"kernel.fp64_as_fp32"},
              .needs = {"fp64"}) {
  for (const char* name : {"exp", "log", "sin", "pow", "tanh", "cbrt"}) expect_double(name);
}

PROCTOR_CHECK(Math, SpecialValuesFollowIeee754, "K25", kEdge, kGate,
              {"kernel.wrong_result:arg=3,at=3,xor=0x40"}) {
  const auto context = leased();
  step("given infinities, zeros of both signs and NaN");
  for (const Special& row : kSpecials) {
    const auto got =
        compute<float>(context, kernels::math_function(row.function), {{row.a}, {row.b}, {0}})[0];
    if (same_special(row.expected, got)) continue;
    suite::report({.message = fmt::format("{}({}, {})", row.function, row.a, row.b),
                   .expected = fmt::format("{}", row.expected),
                   .got = fmt::format("{}", got),
                   .device = describe(context.device())});
  }
}

PROCTOR_CHECK(Math, DenormalProductsMatchDeclaration, "K24",
              by_vendor("Level Zero specification, ze_device_fp_flag_t",
                        "CUDA Programming Guide, Floating-Point Standard"),
              kGate, {"kernel.ftz"}) {
  const auto context = leased();
  step("given products that are denormal numbers");
  Inputs<float> in;
  for (int i = 1; i <= 256; ++i) {
    in.a.push_back(static_cast<float>(i) * 0x1p-100f);
    in.b.push_back(0x1p-40f);
    in.c.push_back(0);
  }
  const auto got = compute(context, kernels::math_function("multiply"), in);
  const bool kept = context.device().properties().fp32_denormals;
  std::vector<std::uint32_t> expected, bits;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float product = in.a[i] * in.b[i];
    // A device that does not declare denormal numbers may still keep them.
    expected.push_back(std::bit_cast<std::uint32_t>(kept || got[i] != 0 ? product : 0.0f));
    bits.push_back(std::bit_cast<std::uint32_t>(got[i]));
  }
  expect_words(kept ? "denormals, which the device declares" : "denormals or zeros", expected, bits,
               context.device());
}

PROCTOR_CHECK(Math, HalfArithmeticIsCorrectlyRounded, "K22", kUlp, kGate,
              .faults = {"kernel.wrong_result:arg=3,at=8"}, .needs = {"fp16"}) {
  const auto context = leased();
  need_exact_halves(context.device());
  Queue queue(context);
  const Module module = Module::load(context, "halves");
  const Kernel kernel(module, "math");
  std::vector<std::uint16_t> x, y;
  for (const std::uint32_t word : noise_words(kCount, 4)) {
    x.push_back(kernels::half_from_float(static_cast<float>(word & 0xffff) / 256 - 128));
    y.push_back(kernels::half_from_float(static_cast<float>(word >> 16) / 256 - 128));
  }
  const auto a = device_copy(queue, context, x);
  const auto b = device_copy(queue, context, y);
  for (const std::uint32_t which : {0u, 1u, 2u}) {
    step(fmt::format("given operation {} (+ - *) on halves", which));
    const Buffer out = device_memory(context, kCount * 2);
    queue.launch(kernel, cover(kCount, 64), arguments(a, b, b, out, which, kCount));
    queue.synchronize();
    std::vector<std::uint32_t> expected, got;
    for (const std::uint16_t half : read_as<std::uint16_t>(queue, context, out)) got.push_back(half);
    for (std::size_t i = 0; i < kCount; ++i) {
      const float p = kernels::float_from_half(x[i]), q = kernels::float_from_half(y[i]);
      // The result in float is exact until it is rounded to a half.
      expected.push_back(kernels::half_from_float(which == 0 ? p + q : which == 1 ? p - q : p * q));
    }
    expect_words("halves, as bits", expected, got, context.device());
  }
}

}  // namespace proctor::accel
