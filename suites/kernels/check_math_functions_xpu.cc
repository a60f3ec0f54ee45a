// Checks of float functions that CUDA lacks, or lacks for vectors. Every type and vectors are covered. Each
// function must be within the error that the specification allows.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/functions_xpu.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kFunctionUlps =
    "OpenCL C specification, relative error as ULPs; OpenCL-CTS, math_brute_force, commonfns, geometrics";

double ulps_between(long double reference, float got) {
  return kernels::ulp_distance(static_cast<double>(reference), got);
}
double ulps_between(long double reference, double got) { return kernels::ulp_distance(reference, got); }
double ulps_between(long double reference, std::uint16_t got) {
  return kernels::half_ulp_distance(static_cast<double>(reference), got);
}

using LongReal = long double;
// std::numbers of libc++ has only the digits of a double.
constexpr LongReal kLongPi = 3.14159265358979323846264338327950288L;
constexpr LongReal kLongInfinity = std::numeric_limits<LongReal>::infinity();
constexpr LongReal kLongNan = std::numeric_limits<LongReal>::quiet_NaN();

// The allowed error: units in the last place, or a part of the reference, or, for references below 1, of 1.
struct Bound {
  double ulps = 0;  // 0: the correctly rounded result
  double relative = 0;
};

struct FloatFunction {
  const char* name;
  std::uint32_t which;  // number of the function in float_functions.cl
  Bound bound;
  double low_a, high_a, low_b, high_b;  // ranges of the arguments
  LongReal (*result)(LongReal a, LongReal b, LongReal c);
  LongReal (*second)(LongReal a, LongReal b) = nullptr;
};

// sin(pi x). The argument is reduced before it is multiplied with pi.
LongReal sine_of_pi_times(LongReal x) {
  const LongReal quarters = std::nearbyint(2 * x);
  const LongReal rest = kLongPi * (x - quarters / 2);
  switch (static_cast<int>(quarters - 4 * std::floor(quarters / 4))) {
    case 0:
      return std::sin(rest);
    case 1:
      return std::cos(rest);
    case 2:
      return -std::sin(rest);
    default:
      return -std::cos(rest);
  }
}

LongReal real_power(LongReal x, LongReal y) {
  if (x < 0 || std::isnan(x) || std::isnan(y)) return kLongNan;
  if (y == 0) return x == 0 || std::isinf(x) ? kLongNan : 1;
  return x == 1 && std::isinf(y) ? kLongNan : std::pow(std::fabs(x), y);
}

LongReal integer_root(LongReal x, LongReal b) {
  const auto n = static_cast<int>(b);
  if (n == 0 || (x < 0 && n % 2 == 0)) return kLongNan;
  const LongReal size = std::pow(std::fabs(x), LongReal{1} / n);
  return n % 2 == 0 ? size : std::copysign(size, x);
}

LongReal larger_size(LongReal a, LongReal b) {
  return std::fabs(a) > std::fabs(b) ? a : std::fabs(b) > std::fabs(a) ? b : std::fmax(a, b);
}
LongReal smaller_size(LongReal a, LongReal b) {
  return std::fabs(a) < std::fabs(b) ? a : std::fabs(b) < std::fabs(a) ? b : std::fmin(a, b);
}

LongReal smooth_between(LongReal a, LongReal b, LongReal x) {
  const LongReal low = std::fmin(a, b), high = std::fmax(a, b) + 1;
  const LongReal t = std::clamp((x - low) / (high - low), LongReal{0}, LongReal{1});
  return t * t * (3 - 2 * t);
}

LongReal gamma_sign(LongReal a) { return a > 0 || static_cast<int>(std::floor(a)) % 2 == 0 ? 1 : -1; }
LongReal exponent_of(LongReal a) {
  int exponent = 0;
  std::frexp(a, &exponent);
  return exponent;
}
LongReal fraction_of(LongReal a) {
  int exponent = 0;
  return std::frexp(a, &exponent);
}

#define ROW(name, which, bound, low_a, high_a, low_b, high_b, expression)  \
  {                                                                        \
    name, which, bound, low_a, high_a, low_b, high_b,                      \
        []([[maybe_unused]] LongReal a, [[maybe_unused]] LongReal b,       \
           [[maybe_unused]] LongReal c) -> LongReal { return expression; } \
  }
#define ROW_OF_TWO(name, which, bound, low_a, high_a, low_b, high_b, expression, second)            \
  {                                                                                                 \
    name, which, bound, low_a, high_a, low_b, high_b,                                               \
        []([[maybe_unused]] LongReal a, [[maybe_unused]] LongReal b, LongReal) -> LongReal {        \
          return expression;                                                                        \
        },                                                                                          \
        []([[maybe_unused]] LongReal a, [[maybe_unused]] LongReal b) -> LongReal { return second; } \
  }
constexpr Bound kExact{}, kRounded{.ulps = 0.501}, kRough{.relative = 4e-3};
constexpr Bound kOurs{.relative = 0.25};  // OpenCL C has no bound. This one detects a different function.
constexpr Bound within(double ulps) { return {.ulps = ulps}; }

// clang-format off
constexpr FloatFunction kFunctionTable[] = {
    //   name        no  bound       of a          of b       reference
    ROW("acos",       0, within(4),     -1,    1,     0, 1,   std::acos(a)),
    ROW("acosh",      1, within(4),      1, 1000,     0, 1,   std::acosh(a)),
    ROW("acospi",     2, within(5),     -1,    1,     0, 1,   std::acos(a) / kLongPi),
    ROW("asin",       3, within(4),     -1,    1,     0, 1,   std::asin(a)),
    ROW("asinh",      4, within(4),  -1000, 1000,     0, 1,   std::asinh(a)),
    ROW("asinpi",     5, within(5),     -1,    1,     0, 1,   std::asin(a) / kLongPi),
    ROW("atan",       6, within(5),    -10,   10,     0, 1,   std::atan(a)),
    ROW("atanh",      7, within(5),  -0.99, 0.99,     0, 1,   std::atanh(a)),
    ROW("atanpi",     8, within(5),    -10,   10,     0, 1,   std::atan(a) / kLongPi),
    ROW("cosh",       9, within(4),    -10,   10,     0, 1,   std::cosh(a)),
    ROW("cospi",     10, within(4),    -10,   10,     0, 1,   sine_of_pi_times(a + 0.5L)),
    ROW("erfc",      11, within(16),    -2,    3,     0, 1,   std::erfc(a)),
    ROW("exp10",     12, within(3),     -4,    4,     0, 1,   exp10l(a)),
    ROW("expm1",     13, within(3),     -5,    5,     0, 1,   std::expm1(a)),
    ROW("ilogb",     14, kExact,     -1000, 1000,     0, 1,   std::logb(a)),
    ROW("lgamma",    15, kOurs,        0.5,   30,     0, 1,   std::lgamma(a)),
    ROW("log10",     16, within(3),   0.01, 1000,     0, 1,   std::log10(a)),
    ROW("log1p",     17, within(2),   -0.9,  100,     0, 1,   std::log1p(a)),
    ROW("logb",      18, kExact,     -1000, 1000,     0, 1,   std::logb(a)),
    ROW("round",     19, kExact,      -100,  100,     0, 1,   std::round(a)),
    ROW("sinh",      20, within(4),    -10,   10,     0, 1,   std::sinh(a)),
    ROW("sinpi",     21, within(4),    -10,   10,     0, 1,   sine_of_pi_times(a)),
    ROW("tanpi",     22, within(6),  -0.45, 0.45,     0, 1,   std::tan(kLongPi * a)),
    ROW("tgamma",    23, within(16),   0.1,    5,     0, 1,   std::tgamma(a)),
    ROW("atan2pi",   24, within(6),    -10,   10,   -10, 10,  std::atan2(a, b) / kLongPi),
    ROW("fdim",      25, kExact,      -100,  100,  -100, 100, std::fdim(a, b)),
    ROW("ldexp",     26, kExact,      -100,  100,    -5, 9,   std::ldexp(a, static_cast<int>(b))),
    ROW("maxmag",    27, kExact,      -100,  100,  -100, 100, larger_size(a, b)),
    ROW("minmag",    28, kExact,      -100,  100,  -100, 100, smaller_size(a, b)),
    ROW("pown",      30, within(16),    -3, -0.5,  -7.5, 7.5, std::pow(a, std::trunc(b))),
    ROW("powr",      31, within(16),   0.1,    4,    -4, 4,   real_power(a, b)),
    ROW("remainder", 32, kExact,      -100,  100,   0.6, 10,  std::remainder(a, b)),
    ROW("rootn",     33, within(16),  -100,  100,    -6, 8,   integer_root(a, b)),
    ROW("fma",       34, kRounded,    -100,  100,  -100, 100, std::fma(a, b, c)),
    ROW("clamp",     35, kExact,      -100,  100,  -100, 100, std::fmin(std::fmax(a, std::fmin(b, c)), std::fmax(b, c))),
    ROW("degrees",   36, within(2),    -10,   10,     0, 1,   a * 180 / kLongPi),
    ROW("radians",   37, within(2),   -360,  360,     0, 1,   a / 180 * kLongPi),
    ROW("max",       38, kExact,      -100,  100,  -100, 100, a < b ? b : a),
    ROW("min",       39, kExact,      -100,  100,  -100, 100, b < a ? b : a),
    ROW("mix",       40, kRough,         0,    1,     0, 1,   a + (b - a) * c),
    ROW("step",      41, kExact,      -100,  100,  -100, 100, b < a ? 0 : 1),
    ROW("smoothstep",42, kRough,       -10,   10,   -10, 10,  smooth_between(a, b, c)),
    ROW("sign",      43, kExact,      -100,  100,     0, 1,   a == 0 ? a : std::copysign(LongReal{1}, a)),
    ROW("negate",    44, kExact,      -100,  100,     0, 1,   -a),
    ROW_OF_TWO("fract",    70, kExact,      -100,  100,  0, 1,      a - std::floor(a), std::floor(a)),
    ROW_OF_TWO("modf",     71, kExact,      -100,  100,  0, 1,      a - std::trunc(a), std::trunc(a)),
    ROW_OF_TWO("sincos",   72, within(4),    -30,   30,  0, 1,      std::sin(a), std::cos(a)),
    ROW_OF_TWO("frexp",    73, kExact,      -100,  100,  0, 1,      fraction_of(a), exponent_of(a)),
    ROW_OF_TWO("lgamma_r", 74, kOurs,       -3.9, -0.1,  0, 1,      std::lgamma(a), gamma_sign(a)),
    ROW_OF_TWO("remquo",   75, kExact,       -64,   64,  0.625, 10, std::remainder(a, b), (a - std::remainder(a, b)) / b),
};
// Functions of floats only. OpenCL C leaves their error to the implementation.
constexpr FloatFunction kFastTable[] = {
    ROW("half_divide", 60, within(8192), -100, 100, 0.6, 100, a / b),
    ROW("half_recip",  61, within(8192),  0.1, 100,   0, 1,   1 / a),
    ROW("half_powr",   62, within(8192),  0.1,   4,  -4, 4,   std::pow(a, b)),
};
// clang-format on
#undef ROW
#undef ROW_OF_TWO

constexpr std::size_t kArguments = 120;  // divisible by every number of lanes

template <typename T>
std::vector<T> arguments_between(double low, double high, std::uint64_t seed) {
  std::vector<T> result;
  for (const std::uint32_t word : noise_words(kArguments, seed))
    result.push_back(nearest<T>(low + (high - low) * (word * 0x1p-32)));
  return result;
}

// A half has too few digits for a tighter relative bound.
template <typename T>
Bound bound_of(const Bound& bound) {
  return sizeof(T) == 2 && bound.relative != 0 ? Bound{.relative = std::max(2e-2, bound.relative)} : bound;
}

// cl_khr_fp16 leaves the error of these functions to the implementation.
bool is_free_for_halves(const FloatFunction& row) {
  return row.name == std::string_view("mix") || row.name == std::string_view("smoothstep");
}

template <typename T>
bool is_within(const Bound& bound, LongReal reference, T got) {
  const LongReal value = number_of(got);
  if (std::isnan(reference) || std::isnan(value)) return std::isnan(reference) && std::isnan(value);
  if (value == reference) return true;
  if (bound.relative != 0)
    return std::fabs(value - reference) <=
           static_cast<LongReal>(bound.relative) * std::fmax(1.0L, std::fabs(reference));
  return bound.ulps == 0 ? value == number_of(nearest<T>(reference))
                         : ulps_between(reference, got) <= bound.ulps;
}

// The parts of float_functions.cl: one module for each first digit of the functions' numbers, and one for all from
// 60.
constexpr std::uint32_t kLastPart = 6;

// Collects arguments and expected results, function by function. Runs each part in one launch.
template <typename T>
class FloatFunctions {
 public:
  struct Element {
    const char* name;
    std::uint32_t which;
    Bound bound;
    T a, b, c;
    LongReal first;
    std::optional<LongReal> second = std::nullopt;
    bool signed_zero = false;  // true: the sign of a zero is compared
  };

  FloatFunctions(const Context& context, const std::string& type, std::size_t lanes)
      : context_(context), type_(type), lanes_(lanes) {}

  std::size_t lanes() const { return lanes_; }
  void add(const Element& element) { elements_.push_back(element); }
  // Fills the last vector, because all lanes of a vector must compute the same function.
  void end_function() {
    while (elements_.size() % lanes_ != 0) elements_.push_back(elements_.back());
  }

  void expect() {
    std::map<std::uint32_t, std::vector<Element>> parts;
    for (const Element& element : elements_)
      parts[std::min(element.which / 10, kLastPart)].push_back(element);
    for (const auto& [part, elements] : parts) expect_part(part, elements);
  }

 private:
  void expect_part(std::uint32_t part, const std::vector<Element>& elements) {
    const std::string module = fmt::format("float_functions_{}_{}_{}", type_, lanes_, part);
    step(fmt::format("given {} elements of {}", elements.size(), module));
    std::vector<std::vector<T>> in(3);
    std::vector<std::uint32_t> which;
    for (const Element& element : elements) {
      if (in[0].size() % lanes_ == 0) which.push_back(element.which);
      in[0].push_back(element.a);
      in[1].push_back(element.b);
      in[2].push_back(element.c);
    }
    const auto got = Functions(context_, module).template run<T>("function", 2, in, which);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      compare(elements[i], elements[i].first, got[i]);
      if (elements[i].second) compare(elements[i], *elements[i].second, got[elements.size() + i]);
    }
  }

  void compare(const Element& element, LongReal reference, T got) {
    const bool zeros_differ =
        element.signed_zero && reference == 0 && std::signbit(reference) != sign_of(got);
    if (is_within(element.bound, reference, got) && !zeros_differ) return;
    suite::report(
        {.message = fmt::format("{} of {} with {} lanes: ({:.17g}, {:.17g}, {:.17g})", element.name, type_,
                                lanes_, shown(element.a), shown(element.b), shown(element.c)),
         .expected = fmt::format("{:.17g}", static_cast<double>(reference)),
         .got = fmt::format("{:.17g}", shown(got)),
         .device = describe(context_.device())});
  }
  static double shown(T value) { return static_cast<double>(number_of(value)); }

  Context context_;
  std::string type_;
  std::size_t lanes_;
  std::vector<Element> elements_;
};

template <typename T>
void add_row(FloatFunctions<T>& functions, const FloatFunction& row) {
  const auto a = arguments_between<T>(row.low_a, row.high_a, row.which + 1);
  auto b = arguments_between<T>(row.low_b, row.high_b, row.which + 2);
  const auto c = arguments_between<T>(row.low_a, row.high_a, row.which + 3);
  if (row.low_b < 0 && row.low_b == row.low_a) {  // adds equal arguments and arguments with the other sign
    for (std::size_t i = 0; i < kArguments; i += 8) b[i] = a[i];
    for (std::size_t i = 4; i < kArguments; i += 8) b[i] = nearest<T>(-number_of(a[i]));
  }
  for (std::size_t i = 0; i < kArguments; ++i) {
    const LongReal x = number_of(a[i]), y = number_of(b[i]);
    std::optional<LongReal> second;
    if (row.second != nullptr) second = row.second(x, y);
    functions.add({row.name, row.which, bound_of<T>(row.bound), a[i], b[i], c[i],
                   row.result(x, y, number_of(c[i])), second});
  }
  functions.end_function();
}

// ---- functions of whole vectors ----

struct VectorFunction {
  const char* name;
  std::uint32_t which;
  LongReal (*result)(std::span<const LongReal> a, std::span<const LongReal> b, std::size_t lane);
};

LongReal product(std::span<const LongReal> a, std::span<const LongReal> b) {
  LongReal sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
LongReal length_of(std::span<const LongReal> a, std::span<const LongReal>, std::size_t) {
  return std::sqrt(product(a, a));
}
LongReal distance_of(std::span<const LongReal> a, std::span<const LongReal> b, std::size_t) {
  std::vector<LongReal> between(a.begin(), a.end());
  for (std::size_t i = 0; i < a.size(); ++i) between[i] -= b[i];
  return std::sqrt(product(between, between));
}
LongReal direction_of(std::span<const LongReal> a, std::span<const LongReal>, std::size_t lane) {
  const LongReal size = std::sqrt(product(a, a));
  return size == 0 ? a[lane] : a[lane] / size;
}
LongReal cross_of(std::span<const LongReal> a, std::span<const LongReal> b, std::size_t lane) {
  const std::size_t j = (lane + 1) % 3, k = (lane + 2) % 3;
  return lane == 3 ? 0 : a[j] * b[k] - a[k] * b[j];
}
constexpr VectorFunction kVectorTable[] = {
    {"length", 50, &length_of},
    {"distance", 51, &distance_of},
    {"normalize", 52, &direction_of},
    {"dot", 53,
     [](std::span<const LongReal> a, std::span<const LongReal> b, std::size_t) { return product(a, b); }},
    {"cross", 54, &cross_of},
    {"fast_length", 55, &length_of},
    {"fast_distance", 56, &distance_of},
    {"fast_normalize", 57, &direction_of}};

template <typename T>
void add_vector_functions(FloatFunctions<T>& functions) {
  const std::size_t lanes = functions.lanes();
  auto in_a = arguments_between<T>(-3, 3, 1);
  const auto in_b = arguments_between<T>(-3, 3, 2);
  // A vector without a direction.
  std::fill(in_a.begin(), in_a.begin() + static_cast<std::ptrdiff_t>(lanes), T{});
  std::vector<LongReal> a, b;
  for (std::size_t i = 0; i < kArguments; ++i) {
    a.push_back(number_of(in_a[i]));
    b.push_back(number_of(in_b[i]));
  }
  for (const VectorFunction& row : kVectorTable) {
    if ((row.which == 54 && lanes < 3) || (row.which > 54 && !std::same_as<T, float>)) continue;
    for (std::size_t i = 0; i < kArguments; ++i) {
      const std::size_t first = i / lanes * lanes;
      const LongReal expected =
          row.result(std::span(a).subspan(first, lanes), std::span(b).subspan(first, lanes), i - first);
      functions.add({row.name, row.which, bound_of<T>(kRough), in_a[i], in_b[i], T{}, expected});
    }
  }
}

// ---- special arguments ----

// The next number after a in the direction of b. Numbers of one sign are in the order of their bits.
template <typename T>
T follower(T a, T b) {
  using Bits = BitsOf<T>;
  const LongReal x = number_of(a), y = number_of(b);
  if (std::isnan(x) || std::isnan(y)) return nearest<T>(kLongNan);
  if (x == y) return b;
  if (x == 0) return std::bit_cast<T>(static_cast<Bits>(y > 0 ? 1 : std::numeric_limits<Bits>::min() + 1));
  const bool grows = (y > x) == (x > 0);
  return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(a) + (grows ? 1 : -1)));
}

struct SpecialArguments {
  std::uint32_t which;
  LongReal a, b;
  LongReal result;
  LongReal second = 0;
};

// Special arguments of OpenCL C, "additional requirements beyond C99", and "edge case behavior of half and native
// functions". If the expected result is NaN, any NaN is right.
constexpr SpecialArguments kSpecialArguments[] = {
    {2, 1, 0, 0},
    {5, -0.0L, 0, -0.0L},
    {10, 0.5L, 0, 0},
    {10, -1.5L, 0, 0},
    {10, kLongInfinity, 0, kLongNan},
    {21, 3, 0, 0},
    {21, -3, 0, -0.0L},
    {21, -4, 0, -0.0L},
    {21, -0.0L, 0, -0.0L},
    {21, kLongInfinity, 0, kLongNan},
    {22, 0.5L, 0, kLongInfinity},
    {22, 2, 0, 0},
    {14, 1024, 0, 10},
    {18, 0, 0, -kLongInfinity},
    {19, 2.5L, 0, 3},
    {19, -2.5L, 0, -3},
    {19, 0.5L, 0, 1},
    {19, -0.25L, 0, -0.0L},
    {30, -2, 0, 1},
    {30, 0, -3, kLongInfinity},
    {30, -0.0L, -3, -kLongInfinity},
    {30, -0.0L, -2, kLongInfinity},
    {30, -0.0L, 3, -0.0L},
    {31, 2, 0, 1},
    {31, 0, -1, kLongInfinity},
    {31, -0.0L, -1, kLongInfinity},
    {31, 0, 2, 0},
    {31, -0.0L, 3, 0},
    {31, 1, 5, 1},
    {31, -1, 2, kLongNan},
    {31, 0, 0, kLongNan},
    {31, kLongInfinity, 0, kLongNan},
    {31, 1, kLongInfinity, kLongNan},
    {31, 2, kLongInfinity, kLongInfinity},
    {31, 2, kLongNan, kLongNan},
    {31, kLongNan, 2, kLongNan},
    {31, kLongNan, 0, kLongNan},
    {33, 0, -3, kLongInfinity},
    {33, -0.0L, -3, -kLongInfinity},
    {33, -0.0L, -2, kLongInfinity},
    {33, -0.0L, 2, 0},
    {33, -0.0L, 3, -0.0L},
    {33, 8, 3, 2},
    {33, -8, 3, -2},
    {33, -8, 2, kLongNan},
    {33, 8, 0, kLongNan},
    {43, kLongNan, 0, 0},
    {43, -0.0L, 0, -0.0L},
    {44, kLongInfinity, 0, -kLongInfinity},
    {70, kLongInfinity, 0, 0, kLongInfinity},
    {70, -kLongInfinity, 0, -0.0L, -kLongInfinity},
    {70, -0.0L, 0, -0.0L, -0.0L},
    {70, 0, 0, 0, 0},
    {70, kLongNan, 0, kLongNan, kLongNan},
    {71, kLongInfinity, 0, 0, kLongInfinity},
    {71, -2, 0, -0.0L, -2},
    {73, 0, 0, 0, 0},
};

// The specification requires -0 for sinpi(-n), sinpi(-0) and fract(-0). OpenCL-CTS compares zeros without their
// signs, and so do the gates here.
bool has_disputed_sign(const SpecialArguments& row) {
  return row.result == 0 && std::signbit(row.result) && (row.which == 21 || (row.which == 70 && row.a == 0));
}

template <typename T>
void add_special_argument(FloatFunctions<T>& functions, const SpecialArguments& row, bool signed_zero) {
  functions.add({"a special argument", row.which, within(4), nearest<T>(row.a), nearest<T>(row.b), T{},
                 row.result, row.which >= 70 ? std::optional(row.second) : std::nullopt, signed_zero});
  functions.end_function();
}

template <typename T>
void add_special_arguments(FloatFunctions<T>& functions) {
  for (const SpecialArguments& row : kSpecialArguments)
    add_special_argument(functions, row, !has_disputed_sign(row));
  // fract() of a negative number near 0 is the largest number below 1.
  functions.add({"fract", 70, kExact, nearest<T>(-std::ldexp(1.0L, -kDigits<T> - 1)), T{}, T{},
                 1 - std::ldexp(1.0L, -kDigits<T>), -1});
  functions.end_function();
  functions.add({"nan", 80, kExact, T{}, T{}, T{}, kLongNan});
  functions.end_function();
}

template <typename T>
void add_neighbours(FloatFunctions<T>& functions) {
  const auto special = special_numbers<T>(true);
  for (const T a : special) {
    for (const T b : special) functions.add({"nextafter", 29, kExact, a, b, T{}, number_of(follower(a, b))});
  }
  functions.end_function();
}

template <typename T>
void expect_float_functions(const Context& context, const std::string& type,
                            const std::vector<std::size_t>& widths) {
  for (const std::size_t lanes : widths) {
    FloatFunctions<T> functions(context, type, lanes);
    add_vector_functions(functions);
    if (lanes != 4) {
      for (const FloatFunction& row : kFunctionTable) {
        if (sizeof(T) > 2 || !is_free_for_halves(row)) add_row(functions, row);
      }
      if constexpr (std::same_as<T, float>) {
        for (const FloatFunction& row : kFastTable) add_row(functions, row);
      }
      add_special_arguments(functions);
      if (keeps_denormals<T>(context.device())) add_neighbours(functions);
    }
    functions.expect();
  }
}

template <typename T>
void expect_signs_of_zeros(const Context& context, const std::string& type) {
  for (const std::size_t lanes : {1u, 3u}) {
    FloatFunctions<T> functions(context, type, lanes);
    for (const SpecialArguments& row : kSpecialArguments) {
      if (has_disputed_sign(row)) add_special_argument(functions, row, true);
    }
    functions.expect();
  }
}

}  // namespace

PROCTOR_CHECK(Math, EveryFloatBuiltinIsWithinBound, "K22", kFunctionUlps, kGate,
              {"kernel.wrong_result:kernel=function,arg=3,at=7,xor=0x40"}) {
  expect_float_functions<float>(leased(), "f32", {1, 3, 4});
}

PROCTOR_CHECK(Math, EveryDoubleBuiltinIsWithinBound, "K28", kFunctionUlps, kGate,
              .faults = {"kernel.wrong_result:kernel=function,arg=3,at=7,xor=0x40"}, .needs = {"fp64"}) {
  const auto context = leased();
  need(context.device().properties().fp64, "unsupported:fp64");
  expect_float_functions<double>(context, "f64", {1, 3});
}

PROCTOR_CHECK(Math, EveryHalfBuiltinIsWithinBound, "K22", kFunctionUlps, kGate,
              .faults = {"kernel.wrong_result:kernel=function,arg=3,at=7,xor=0x40"}, .needs = {"fp16"}) {
  const auto context = leased();
  need(context.device().properties().fp16, "unsupported:fp16");
  need(context.device().properties().fp16_to_nearest, "unsupported:fp16_rounding_to_nearest");
  expect_float_functions<std::uint16_t>(context, "f16", {1, 3});
}

// "sinpi(-n) returns -0 for negative integers n", "fract(-0, iptr) returns -0". The check is not a gate, because
// no conformance test compares these signs, and the library of Intel's compiler returns +0.
PROCTOR_CHECK(Math, FractAndSinpiReturnNegativeZero, "K22",
              "OpenCL C specification, 7.5.1, additional requirements beyond C99 TC2", kWarn,
              {"kernel.wrong_result:kernel=function,arg=3,at=3,xor=0x80"}) {
  const auto context = leased();
  const Properties& properties = context.device().properties();
  expect_signs_of_zeros<float>(context, "f32");
  if (properties.fp64) expect_signs_of_zeros<double>(context, "f64");
  if (properties.fp16) expect_signs_of_zeros<std::uint16_t>(context, "f16");
}

}  // namespace proctor::accel
