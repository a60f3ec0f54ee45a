// Integers and conversions: results that have one right value.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kIntegers = by_vendor(
    "OpenCL C specification, integer functions; OpenCL-CTS integer_ops", "CUDA Math API, integer intrinsics");
constexpr const char* kConversions = by_vendor("OpenCL C specification, conversions; OpenCL-CTS conversions",
                                               "CUDA Math API, type casting intrinsics");
constexpr std::uint32_t kSamples = 1024;

std::uint32_t as_unsigned(std::int32_t value) { return static_cast<std::uint32_t>(value); }
std::int32_t as_signed(std::uint32_t value) { return static_cast<std::int32_t>(value); }

// Noise with the values at the edges in front.
std::vector<std::uint32_t> edge_words(std::uint64_t seed) {
  auto words = noise_words(kSamples, seed);
  const std::uint32_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe};
  // Every pair of edges meets once, whichever of the two inputs this is.
  for (std::size_t i = 0; i < 64; ++i) words[i] = edges[seed % 2 == 0 ? i % 8 : i / 8];
  return words;
}

__extension__ using Wide = unsigned __int128;

template <typename Out, typename In, typename... More>
std::vector<Out> run_integers(const Context& context, const std::string& module_name, const std::string& name,
                              std::size_t outputs_each, const std::vector<In>& input, const More&... inputs) {
  Queue queue(context);
  const Module module = Module::load(context, module_name);
  const std::vector<Buffer> buffers = [&] {
    std::vector<Buffer> made;
    made.push_back(device_copy(queue, context, input));
    (made.push_back(device_copy(queue, context, inputs)), ...);
    return made;
  }();
  const Buffer out = device_memory(context, input.size() * outputs_each * sizeof(Out));
  Arguments all;
  for (const Buffer& buffer : buffers) all.push_back(argument(buffer));
  all.push_back(argument(out));
  step("given " + std::to_string(input.size()) + " work-items of " + name);
  queue.launch(Kernel(module, name), cover(input.size(), 64), all);
  queue.synchronize();
  return read_as<Out>(queue, context, out);
}

}  // namespace

PROCTOR_CHECK(Integer, ThirtyTwoBits, "K27", kIntegers, kGate, {"kernel.wrong_result:arg=2,at=36"}) {
  const auto context = leased();
  const auto x = edge_words(1), y = edge_words(2);
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const std::uint32_t a = x[i], b = y[i];
    const auto wide = static_cast<std::uint64_t>(a) * b;
    const auto wide_signed = static_cast<std::int64_t>(as_signed(a)) * as_signed(b);
    expected.insert(
        expected.end(),
        {a * b, static_cast<std::uint32_t>(wide >> 32), static_cast<std::uint32_t>(wide_signed >> 32),
         a << (b & 31), as_unsigned(as_signed(a) >> (b & 31)), static_cast<std::uint32_t>(std::popcount(a)),
         static_cast<std::uint32_t>(std::countl_zero(a)), std::rotl(a, static_cast<int>(b & 31))});
  }
  expect_words("mul mul_hi mul_hi(signed) shl ashr popcount clz rotate", expected,
               run_integers<std::uint32_t>(context, "integers", "integers32", 8, x, y), context.device());
}

PROCTOR_CHECK(Integer, SixtyFourBits, "K27", kIntegers, kGate, {"kernel.wrong_result:arg=2,at=40"}) {
  const auto context = leased();
  std::vector<std::uint64_t> x, y, expected;
  const auto high = edge_words(1), low = edge_words(2);
  for (std::size_t i = 0; i < kSamples; ++i) {
    x.push_back(std::uint64_t{high[i]} << 32 | low[i]);
    y.push_back(std::uint64_t{low[kSamples - 1 - i]} << 32 | high[kSamples - 1 - i]);
    const auto wide = static_cast<Wide>(x[i]) * y[i];
    expected.insert(expected.end(), {x[i] * y[i], static_cast<std::uint64_t>(wide >> 64), x[i] << (y[i] & 63),
                                     static_cast<std::uint64_t>(std::popcount(x[i]))});
  }
  expect_longs("mul mul_hi shl popcount", expected,
               run_integers<std::uint64_t>(context, "integers", "integers64", 4, x, y), context.device());
}

PROCTOR_CHECK(Integer, QuotientsAndRemainders, "K27", kIntegers, kGate, {"kernel.wrong_result:arg=2,at=12"}) {
  const auto context = leased();
  auto x = edge_words(1), y = edge_words(2);
  for (std::size_t i = 0; i < kSamples; ++i) {
    if (y[i] == 0) y[i] = 3;  // division by zero and the overflowing one are undefined
    if (x[i] == 0x80000000 && y[i] == 0xffffffff) x[i] = 5;
  }
  std::vector<std::uint32_t> quotients, remainders;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const std::int32_t a = as_signed(x[i]), b = as_signed(y[i]);
    quotients.insert(quotients.end(), {x[i] / y[i], as_unsigned(a / b)});
    remainders.insert(remainders.end(), {x[i] % y[i], as_unsigned(a % b)});
  }
  expect_words("quotients, unsigned and signed", quotients,
               run_integers<std::uint32_t>(context, "integers", "quotients", 2, x, y), context.device());
  expect_words("remainders, unsigned and signed", remainders,
               run_integers<std::uint32_t>(context, "integers", "remainders", 2, x, y), context.device());
}

PROCTOR_CHECK(Integer, SaturationStopsAtTheEnds, "K27", kIntegers, kGate,
              {"kernel.wrong_result:arg=2,at=12"}) {
  const auto context = leased();
  const auto x = edge_words(1), y = edge_words(2);
  const auto clamp = [](std::int64_t value) {
    return as_unsigned(static_cast<std::int32_t>(std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX)));
  };
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const std::int64_t a = as_signed(x[i]), b = as_signed(y[i]);
    expected.insert(expected.end(),
                    {clamp(a + b), clamp(a - b), as_unsigned(std::clamp(as_signed(x[i]), -1000, 1000))});
  }
  expect_words("add_sat sub_sat clamp", expected,
               run_integers<std::uint32_t>(context, "integers", "saturating", 3, x, y), context.device());
}

// ---- conversions ----

PROCTOR_CHECK(Convert, FloatToIntegerInEveryMode, "K26", kConversions, kGate,
              {"kernel.wrong_result:arg=1,at=28"}) {
  const auto context = leased();
  std::vector<float> x = {0.5f,   -0.5f,  1.5f, 2.5f,  -2.5f,         127.5f,         128.0f, -128.5f,
                          255.5f, 256.0f, 3e9f, -3e9f, 2147483520.0f, -2147483648.0f, 1e-30f, -1e-30f};
  for (const std::uint32_t word : noise_words(512 - 16, 5))
    x.push_back(static_cast<float>(as_signed(word)) / 1000);
  const auto saturated = [](double value, double low, double high) {
    return as_unsigned(static_cast<std::int32_t>(std::clamp(value, low, high)));
  };
  std::vector<std::uint32_t> expected;
  for (const float value : x) {
    const double exact = value;
    for (const double whole :
         {std::trunc(exact), std::nearbyint(exact), std::ceil(exact), std::floor(exact)}) {
      expected.push_back(saturated(whole, INT32_MIN, INT32_MAX));
    }
    expected.push_back(saturated(std::trunc(exact), -128, 127));
    expected.push_back(saturated(std::trunc(exact), 0, 255));
  }
  expect_words("to int by rtz rte rtp rtn, to char and uchar saturated", expected,
               run_integers<std::uint32_t>(context, "conversions", "float_to_int", 6, x), context.device());
}

PROCTOR_CHECK(Convert, IntegerToFloatIsToNearestEven, "K26", kConversions, kGate,
              {"kernel.wrong_result:arg=1,at=8"}) {
  const auto context = leased();
  auto x = edge_words(1);
  for (std::uint32_t i = 0; i < 256; ++i)
    x[100 + i] = 0x1000000 + i;  // where one bit more is needed than there is
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t word : x) {
    expected.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(as_signed(word))));
    expected.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(word)));
  }
  expect_words("from int and uint, as bits", expected,
               run_integers<std::uint32_t>(context, "conversions", "int_to_float", 2, x), context.device());
}

PROCTOR_CHECK(Convert, HalvesRoundToNearestEven, "K26", kConversions, kGate,
              {"kernel.wrong_result:arg=1,at=4"}) {
  const auto context = leased();
  std::vector<float> x = {
      0.0f,     -0.0f,    1.0f,   1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 65504.0f, 65519.0f, 65520.0f,
      0x1p-24f, 0x1p-25f, 1e-30f, 0x1.8p-25f,      -65520.0f,           1e30f,    0x1p-14f, 0x1.ffcp-15f};
  for (const std::uint32_t word : noise_words(512 - 16, 6))
    x.push_back(static_cast<float>(as_signed(word)) / 30000);
  std::vector<std::uint32_t> expected, got;
  for (const float value : x) expected.push_back(kernels::half_from_float(value));
  for (const std::uint16_t half :
       run_integers<std::uint16_t>(context, "conversions", "float_to_half", 1, x)) {
    got.push_back(half);
  }
  expect_words("halves, as bits", expected, got, context.device());
}

PROCTOR_CHECK(Convert, EveryHalfHasItsFloat, "K26", kConversions, kGate, {"kernel.wrong_result:arg=1,at=4"}) {
  const auto context = leased();
  std::vector<std::uint16_t> x;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0) continue;  // a NaN may change its payload
    x.push_back(static_cast<std::uint16_t>(half));
    expected.push_back(std::bit_cast<std::uint32_t>(kernels::float_from_half(x.back())));
  }
  while (x.size() % 64 != 0) {  // whole groups
    x.push_back(0);
    expected.push_back(0);
  }
  expect_words("floats, as bits", expected,
               run_integers<std::uint32_t>(context, "conversions", "half_to_float", 1, x), context.device());
}

PROCTOR_CHECK(Process, RoundingModeIsKept, "K25",
              "C standard, floating-point environment: a call keeps the mode", kGate,
              {"host.rounding_mode_changed"}) {
  const auto context = leased();
  step("given a queue, a module and a launch");
  run_integers<std::uint32_t>(context, "conversions", "int_to_float", 2, noise_words(64, 7));
  suite::expect_same("rounding mode of this thread", std::to_string(FE_TONEAREST),
                     std::to_string(std::fegetround()));
}

}  // namespace proctor::accel
