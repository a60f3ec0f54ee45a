// Checks of conversions between all number types: at points where rounding happens, and at the limits of each
// type.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kCasts = by_vendor("OpenCL C specification, conversions; OpenCL-CTS, conversions",
                                         "CUDA Math API, type casting intrinsics; IEEE 754, conversions");

struct Half {  // The host has no 16-bit float type.
  std::uint16_t bits = 0;
};

// The value as a long double, which represents every number of every type.
template <typename T>
long double exactly(T value) {
  if constexpr (std::same_as<T, Half>) {
    return kernels::float_from_half(value.bits);
  } else {
    return static_cast<long double>(value);
  }
}

// ---- conversions on the host, in its current rounding mode ----

template <std::integral To>
To rounded_to_integer(long double value) {
  constexpr To kLow = std::numeric_limits<To>::min(), kHigh = std::numeric_limits<To>::max();
  if (std::isnan(value)) return 0;
  const long double whole = std::nearbyint(value);
  if (whole <= exactly(kLow)) return kLow;
  return whole >= exactly(kHigh) ? kHigh : static_cast<To>(whole);
}

Half rounded_to_half(long double value) {
  if (std::isnan(value)) return {0x7e00};
  int exponent = 0;
  std::frexp(value, &exponent);
  const int last = std::max(exponent - 11, -24);  // the exponent of the last bit
  long double result = std::isinf(value) ? value : std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  if (std::fabs(result) >= 65536) {
    const int way = std::fegetround();
    const bool stops = way == FE_TOWARDZERO || way == (value > 0 ? FE_DOWNWARD : FE_UPWARD);
    result = std::copysign(
        stops && !std::isinf(value) ? 65504.0L : std::numeric_limits<long double>::infinity(), value);
  }
  return {kernels::half_from_float(static_cast<float>(result))};
}

template <typename To, typename From>
To converted(From from) {
  const volatile long double value = exactly(from);  // volatile, so that the conversion happens now
  if constexpr (std::same_as<To, Half>) {
    return rounded_to_half(value);
  } else if constexpr (std::floating_point<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::integral<From>) {
    return static_cast<To>(from);
  } else {
    return rounded_to_integer<To>(value);
  }
}

class RoundingMode {
 public:
  explicit RoundingMode(int way) : before_(std::fegetround()) { std::fesetround(way); }
  ~RoundingMode() { std::fesetround(before_); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  int before_;
};

template <typename To, typename From>
std::vector<To> converted(const std::vector<From>& values, int way) {
  const RoundingMode mode(way);
  std::vector<To> result;
  for (const From value : values) result.push_back(converted<To>(value));
  return result;
}

// ---- the numbers to convert ----

// Numbers beside each power of two, and beside the midpoint between two halves, floats and doubles. The number
// below a midpoint is once even and once odd. Some numbers differ from the midpoint in one bit that only a wider
// type has.
std::vector<long double> points() {
  std::vector<long double> result;
  for (int k = 0; k < 64; ++k) {
    const long double power = std::ldexp(1.0L, k);
    std::vector<long double> middles = {power};
    for (const int digits : {11, 24, 53}) {
      if (k >= digits)
        middles.insert(middles.end(),
                       {power + std::ldexp(1.0L, k - digits), power + std::ldexp(3.0L, k - digits)});
    }
    for (const long double middle : middles) {
      for (const long double away : {-1.0L, 0.0L, 1.0L})
        result.insert(result.end(), {middle + away, -(middle + away)});
    }
  }
  return result;
}

template <typename From>
std::vector<From> numbers_to_cast() {
  std::vector<From> result;
  const auto add = [&](long double value) {
    if constexpr (std::integral<From>) {
      if (value < exactly(std::numeric_limits<From>::min()) ||
          value > exactly(std::numeric_limits<From>::max()))
        return;
    }
    result.push_back(converted<From>(value));
  };
  for (const long double point : points()) {
    add(point);
    if constexpr (!std::integral<From>) {
      if (std::fabs(point) < 5000) add(point / 4);
      add(std::ldexp(point, -34));  // small numbers, for which a half has fewer digits
    }
  }
  if constexpr (std::integral<From>) {
    add(exactly(std::numeric_limits<From>::max()));
    add(exactly(std::numeric_limits<From>::min()));
  } else {
    constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
    for (const long double value : {0.0L, -0.0L, kInfinity, -kInfinity, 3e38L, 65519.0L, 65520.0L})
      add(value);
    add(std::numeric_limits<long double>::quiet_NaN());
  }
  return result;
}

// Makes all NaNs equal, because the other bits of a NaN are not compared.
template <typename T>
void make_nan_the_same(std::vector<T>& values) {
  if constexpr (!std::integral<T>) {
    for (T& value : values) {
      if (std::isnan(exactly(value))) value = converted<T>(std::numeric_limits<long double>::quiet_NaN());
    }
  }
}

// ---- conversions on the device ----

class Casts {
 public:
  Casts(const Context& context, const std::string& module)
      : context_(context), queue_(context), module_(Module::load(context, module)) {}

  // Converts from one type to another. `from` and `to` are their names in casts.cl.
  template <typename From, typename To>
  void expect(const std::string& from, const std::string& to) {
    const std::string pair = from + "_" + to;
    const auto all = numbers_to_cast<From>();
    constexpr bool kStops = std::integral<To> && !std::integral<From>;
    auto fitting = all;
    if constexpr (kStops) {
      std::erase_if(fitting, [](From value) {
        const RoundingMode mode(FE_TOWARDZERO);
        return std::isnan(exactly(value)) || std::trunc(exactly(value)) != exactly(converted<To>(value));
      });
      expect_ways<From, To>("saturate_" + pair, all, {FE_TOWARDZERO});
    }
    expect_ways<From, To>("cast_" + pair, fitting, {kStops ? FE_TOWARDZERO : FE_TONEAREST});
    if constexpr (std::integral<From> && std::integral<To>) {
      if (kVendor == Vendor::kIntel) expect_stopped<From, To>("saturate_" + pair, all);
    }
    constexpr bool kExact = (std::integral<From> && std::integral<To>) ||
                            (!std::integral<From> && !std::integral<To> && sizeof(From) < sizeof(To));
    if (kVendor == Vendor::kIntel && !kExact) {
      expect_ways<From, To>("round_" + pair, all, {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD});
    }
  }

 private:
  // Conversions between integers that saturate: a value out of range becomes the nearest value of the type.
  template <typename From, typename To>
  void expect_stopped(const std::string& kernel, const std::vector<From>& values) {
    std::vector<To> expected;
    for (const From value : values) {
      const bool low = std::cmp_less(value, std::numeric_limits<To>::min());
      const bool high = std::cmp_greater(value, std::numeric_limits<To>::max());
      expected.push_back(low    ? std::numeric_limits<To>::min()
                         : high ? std::numeric_limits<To>::max()
                                : static_cast<To>(value));
    }
    expect_values(kernel, expected, run<From, To>(kernel, values, 1), context_.device());
  }

  template <typename From, typename To>
  std::vector<To> run(const std::string& kernel, const std::vector<From>& values, std::size_t results) {
    const auto n = static_cast<std::uint32_t>(values.size());
    const auto from = device_copy(queue_, context_, values);
    const Buffer out = device_memory(context_, results * n * sizeof(To));
    step("given " + kernel);
    queue_.launch(Kernel(module_, kernel), cover(n, 64), arguments(from, out, n));
    queue_.synchronize();
    return read_as<To>(queue_, context_, out);
  }

  template <typename From, typename To>
  void expect_ways(const std::string& kernel, const std::vector<From>& values, const std::vector<int>& ways) {
    auto got = run<From, To>(kernel, values, ways.size());
    std::vector<To> expected;
    for (const int way : ways) {
      const auto rounded = converted<To>(values, way);
      expected.insert(expected.end(), rounded.begin(), rounded.end());
    }
    make_nan_the_same(got);
    make_nan_the_same(expected);
    expect_values(kernel, expected, got, context_.device());
  }

  Context context_;
  Queue queue_;
  Module module_;
};

// Calls visit(name, value) with a value of each integer type.
template <typename Visit>
void for_integers(Visit visit) {
  visit("i8", std::int8_t{});
  visit("u8", std::uint8_t{});
  visit("i16", std::int16_t{});
  visit("u16", std::uint16_t{});
  visit("i32", std::int32_t{});
  visit("u32", std::uint32_t{});
  visit("i64", std::int64_t{});
  visit("u64", std::uint64_t{});
}

// Conversions between a float type and every integer type, in both directions.
template <typename Float>
void expect_integers_and(Casts& casts, const std::string& name) {
  for_integers([&](const std::string& other, auto number) {
    casts.expect<Float, decltype(number)>(name, other);
    casts.expect<decltype(number), Float>(other, name);
  });
}

}  // namespace

PROCTOR_CHECK(Conversion, EveryIntegerPairConvertsExactly, "K26", kCasts, kGate,
              {"kernel.wrong_result:kernel=cast_u64_i8,arg=1,at=4",
               "kernel.wrong_result:kernel=cast_i16_u64,arg=1,at=8"}) {
  Casts casts(leased(), "casts");
  for_integers([&](const std::string& from, auto number) {
    for_integers([&](const std::string& to, auto other) {
      if (from != to) casts.expect<decltype(number), decltype(other)>(from, to);
    });
  });
}

PROCTOR_CHECK(Conversion, FloatAndIntegerConversionsRoundCorrectly, "K26", kCasts, kGate,
              {"kernel.wrong_result:kernel=cast_u64_f32,arg=1,at=4",
               "kernel.wrong_result:kernel=saturate_f32_i16,arg=1,at=8"}) {
  Casts casts(leased(), "casts");
  expect_integers_and<float>(casts, "f32");
}

PROCTOR_CHECK(Conversion, DoubleConversionsRoundCorrectly, "K26", kCasts, kGate,
              .faults = {"kernel.wrong_result:kernel=cast_i64_f64,arg=1,at=4"}, .needs = {"fp64"}) {
  const auto context = leased();
  need(context.device().properties().fp64, "unsupported:fp64");
  Casts casts(context, "casts_f64");
  expect_integers_and<double>(casts, "f64");
  casts.expect<float, double>("f32", "f64");
  casts.expect<double, float>("f64", "f32");
}

PROCTOR_CHECK(Conversion, HalfConversionsRoundCorrectly, "K26", kCasts, kGate,
              .faults = {"kernel.wrong_result:kernel=cast_i64_f16,arg=1,at=4"}, .needs = {"fp16"}) {
  const auto context = leased();
  need_exact_halves(context.device());
  Casts casts(context, "casts_f16");
  expect_integers_and<Half>(casts, "f16");
  casts.expect<Half, float>("f16", "f32");
  casts.expect<float, Half>("f32", "f16");
}

// A double has digits that a float lacks. Rounding to a float first and then to a half would round twice.
PROCTOR_CHECK(Conversion, HalfAndDoubleConversionsRoundOnce, "K26", kCasts, kGate,
              .faults = {"kernel.wrong_result:kernel=cast_f64_f16,arg=1,at=4"}, .needs = {"fp16", "fp64"}) {
  const auto context = leased();
  need_exact_halves(context.device());
  need(context.device().properties().fp64, "unsupported:fp64");
  Casts casts(context, "casts_f16_f64");
  casts.expect<Half, double>("f16", "f64");
  casts.expect<double, Half>("f64", "f16");
}

}  // namespace proctor::accel
