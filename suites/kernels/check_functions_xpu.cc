// Checks of functions that OpenCL C has and CUDA lacks.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/functions_xpu.h"
#include "suites/main/check.h"

namespace proctor::accel {

// Checks of integer functions that CUDA lacks, or lacks for vectors. Every type and vectors are covered.

namespace {

using suite::kGate;
using suite::step;

constexpr const char* kIntegerFunctions =
    "OpenCL C specification, integer functions; SPIR-V specification, OpSMod";

__extension__ using LongInteger = __int128;
__extension__ using LongWord = unsigned __int128;

template <typename T>
constexpr int kWidthOf = 8 * sizeof(T);
template <typename T>
using WordOf = std::make_unsigned_t<T>;
template <typename T>
constexpr T kMinOf = std::numeric_limits<T>::min();
template <typename T>
constexpr T kMaxOf = std::numeric_limits<T>::max();

// The exact product of two integers, also for 64-bit words.
template <typename T>
auto product_of(T a, T b) {
  return std::conditional_t<std::is_signed_v<T>, LongInteger, LongWord>{a} * b;
}

template <typename T>
T mad_high(T a, T b, T c) {
  return static_cast<T>(static_cast<T>(product_of(a, b) >> kWidthOf<T>) + LongWord(c));
}
template <typename T>
T mad_stopped(T a, T b, T c) {
  // The sum of the product of two 64-bit words and a third word is below 2^128.
  const auto sum = product_of(a, b) + c;
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(std::clamp<LongInteger>(sum, kMinOf<T>, kMaxOf<T>));
  } else {
    return sum > kMaxOf<T> ? kMaxOf<T> : static_cast<T>(sum);
  }
}

template <typename T>
struct IntegerFunction {
  const char* name;
  T (*result)(T a, T b, T c, bool vector);
};

// The functions, in the order of integer_functions.cl.
template <typename T>
constexpr IntegerFunction<T> kIntegerRows[] = {
    {"abs(a)", [](T a, T, T, bool) { return a < 0 ? static_cast<T>(LongWord{0} - LongWord(a)) : a; }},
    {"clamp(a, min(b, c), max(b, c))",
     [](T a, T b, T c, bool) { return std::min(std::max(a, std::min(b, c)), std::max(b, c)); }},
    {"mad_hi(a, b, c)", [](T a, T b, T c, bool) { return mad_high(a, b, c); }},
    {"mad_sat(a, b, c)", [](T a, T b, T c, bool) { return mad_stopped(a, b, c); }},
    {"bitselect(a, b, c)", [](T a, T b, T c, bool) { return static_cast<T>((a & ~c) | (b & c)); }},
    {"select(a, b, c)",
     [](T a, T b, T c, bool vector) {
       const bool second = vector ? (static_cast<WordOf<T>>(c) >> (kWidthOf<T> - 1)) != 0 : c != 0;
       return second ? b : a;
     }},
    {"ctz(a)", [](T a, T, T, bool) { return static_cast<T>(std::countr_zero(static_cast<WordOf<T>>(a))); }},
    {"popcount(a)", [](T a, T, T, bool) { return static_cast<T>(std::popcount(static_cast<WordOf<T>>(a))); }},
    {"clz(a)", [](T a, T, T, bool) { return static_cast<T>(std::countl_zero(static_cast<WordOf<T>>(a))); }},
    {"rotate(a, b)", [](T a, T b, T, bool) {
       return static_cast<T>(
           std::rotl(static_cast<WordOf<T>>(a), static_cast<int>(static_cast<WordOf<T>>(b) % kWidthOf<T>)));
     }}};

// The remainder with the sign of the divisor.
template <typename T>
T floored_remainder(T a, T b, T, bool) {
  const T rest = static_cast<T>(LongInteger{a} % b);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}
template <typename T>
constexpr IntegerFunction<T> kFloored[] = {{"SMod", &floored_remainder<T>}};

// The lowest 24 bits of an operand, with its sign.
template <typename T>
T shortened(T value) {
  return std::is_signed_v<T> ? static_cast<T>(static_cast<T>(static_cast<WordOf<T>>(value) << 8) >> 8)
                             : static_cast<T>(value & 0xffffff);
}
template <typename T>
constexpr IntegerFunction<T> kShortened[] = {
    {"mul24", [](T a, T b, T, bool) { return static_cast<T>(product_of(shortened(a), shortened(b))); }},
    {"mad24", [](T a, T b, T c, bool) {
       return static_cast<T>(LongWord(product_of(shortened(a), shortened(b))) + LongWord(c));
     }}};

constexpr std::size_t kFunctionOperands = 480;

// Every pair of edge values, and noise. The third operand is an edge value in every other row, and otherwise
// noise.
template <typename T>
std::vector<std::vector<T>> integer_operands() {
  const auto of = [](auto value) { return static_cast<T>(value); };
  const std::vector<T> edges = {0,
                                1,
                                2,
                                3,
                                of(kWidthOf<T> - 1),
                                of(kWidthOf<T>),
                                of(-1),
                                of(-2),
                                kMinOf<T>,
                                of(kMinOf<T> + 1),
                                kMaxOf<T>,
                                of(kMaxOf<T> - 1),
                                of(kMaxOf<T> / 2 + 1),
                                of(LongInteger{1} << (kWidthOf<T> / 2)),
                                of((LongInteger{1} << (kWidthOf<T> / 2)) - 1)};
  std::vector<std::vector<T>> result(3, std::vector<T>(kFunctionOperands));
  for (std::size_t k = 0; k < 3; ++k) {
    const auto bytes = noise(kFunctionOperands * sizeof(T), 10 * sizeof(T) + k);
    std::memcpy(result[k].data(), bytes.data(), bytes.size());
  }
  for (std::size_t i = 0; i < edges.size() * edges.size(); ++i) {
    result[0][i] = edges[i % edges.size()];
    result[1][i] = edges[i / edges.size()];
    if (i % 2 == 0) result[2][i] = edges[i * 7 / 2 % edges.size()];
  }
  return result;
}

template <typename T>
void expect_integer_functions(Functions& functions, const std::string& kernel, std::size_t lanes,
                              const std::vector<std::vector<T>>& in,
                              std::span<const IntegerFunction<T>> rows) {
  const std::string what = kernel + " of " + std::to_string(lanes) + " lanes";
  step("given " + what);
  const auto got = functions.run<T>(kernel, rows.size(), in);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::vector<T> expected;
    for (std::size_t i = 0; i < kFunctionOperands; ++i)
      expected.push_back(rows[k].result(in[0][i], in[1][i], in[2][i], lanes > 1));
    expect_values(what + ": " + rows[k].name, expected,
                  part_of(got, k * kFunctionOperands, kFunctionOperands), functions.device());
  }
}

template <typename T, typename Twice>
void expect_upsampled(Functions& functions, const std::string& type) {
  const auto in = integer_operands<T>();
  step("given upsampled_" + type);
  const auto got = functions.run<Twice>("upsampled_" + type, 1, std::vector{in[0], in[1]});
  std::vector<Twice> expected;
  for (std::size_t i = 0; i < kFunctionOperands; ++i) {
    const auto high = static_cast<std::uint64_t>(in[0][i]) << kWidthOf<T>;
    expected.push_back(static_cast<Twice>(high | static_cast<WordOf<T>>(in[1][i])));
  }
  expect_values("upsample of " + type, expected, got, functions.device());
}

template <typename T>
void expect_functions_of(Functions& functions, std::size_t lanes, const std::string& type) {
  auto in = integer_operands<T>();
  expect_integer_functions<T>(functions, "functions_" + type, lanes, in, kIntegerRows<T>);
  if constexpr (sizeof(T) == 4)
    expect_integer_functions<T>(functions, "shortened_" + type, lanes, in, kShortened<T>);
  if constexpr (std::is_signed_v<T>) {
    for (T& divisor : in[1]) {
      // A division by 0 is undefined, and a division by -1 overflows.
      if (divisor == 0 || divisor == -1) divisor = 3;
    }
    expect_integer_functions<T>(functions, "floored_" + type, lanes, in, kFloored<T>);
  }
}

}  // namespace

PROCTOR_CHECK(Integer, BuiltinFunctionsAreExact, "K27", kIntegerFunctions, kGate,
              {"kernel.wrong_result:kernel=functions_u64,arg=3,at=36",
               "kernel.wrong_result:kernel=upsampled_i16,arg=2,at=12",
               "kernel.wrong_result:kernel=floored_i8,arg=3,at=12",
               "kernel.wrong_result:kernel=shortened_i32,arg=3,at=12"}) {
  const auto context = leased();
  for (const std::size_t lanes : {1u, 3u}) {
    Functions functions(context, "integer_functions_" + std::to_string(lanes));
    expect_functions_of<std::int8_t>(functions, lanes, "i8");
    expect_functions_of<std::uint8_t>(functions, lanes, "u8");
    expect_functions_of<std::int16_t>(functions, lanes, "i16");
    expect_functions_of<std::uint16_t>(functions, lanes, "u16");
    expect_functions_of<std::int32_t>(functions, lanes, "i32");
    expect_functions_of<std::uint32_t>(functions, lanes, "u32");
    expect_functions_of<std::int64_t>(functions, lanes, "i64");
    expect_functions_of<std::uint64_t>(functions, lanes, "u64");
    expect_upsampled<std::int8_t, std::int16_t>(functions, "i8");
    expect_upsampled<std::uint8_t, std::uint16_t>(functions, "u8");
    expect_upsampled<std::int16_t, std::int32_t>(functions, "i16");
    expect_upsampled<std::uint16_t, std::uint32_t>(functions, "u16");
    expect_upsampled<std::int32_t, std::int64_t>(functions, "i32");
    expect_upsampled<std::uint32_t, std::uint64_t>(functions, "u32");
  }
}

namespace {

template <typename T>
void expect_reversed(Functions& functions, const std::string& type) {
  const auto in = integer_operands<T>()[0];
  step("given reversed_" + type);
  std::vector<T> expected;
  for (const T value : in) {
    T reversed = 0;
    for (int bit = 0; bit < kWidthOf<T>; ++bit) {
      if ((value >> bit & 1) != 0) reversed = static_cast<T>(reversed | T{1} << (kWidthOf<T> - 1 - bit));
    }
    expected.push_back(reversed);
  }
  expect_values("bits of " + type + " backwards", expected,
                functions.run<T>("reversed_" + type, 1, std::vector<std::vector<T>>{in}), functions.device());
}

}  // namespace

// Not every driver supports the extension.
PROCTOR_CHECK(Integer, BitReverseIsExact, "K27",
              "SPIR-V specification, OpBitReverse; SPV_KHR_bit_instructions", suite::kWarn,
              {"kernel.wrong_result:kernel=reversed_u16,arg=1,at=4"}) {
  const auto context = leased();
  for (const std::size_t lanes : {1u, 3u}) {
    Functions functions(context, "reversed_bits_" + std::to_string(lanes));
    expect_reversed<std::uint8_t>(functions, "u8");
    expect_reversed<std::uint16_t>(functions, "u16");
    expect_reversed<std::uint32_t>(functions, "u32");
    expect_reversed<std::uint64_t>(functions, "u64");
  }
}

// Checks of relations between floats, and of selections by them. Every type and vectors are covered.

namespace {

using suite::kGate;
using suite::step;

constexpr const char* kRelations =
    "OpenCL C specification, relational functions; SPIR-V specification, comparison instructions";

// The relations as bits, in the order of relations.cl.
std::uint32_t relations_of(long double a, bool a_negative, bool a_normal, long double b, bool b_negative) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  const bool less = a < b;
  const bool greater = a > b;
  const bool equal = a == b;
  const bool relations[] = {equal,
                            !equal,
                            less,
                            less || equal,
                            greater,
                            greater || equal,
                            !less,
                            !(less || equal),
                            !greater,
                            !(greater || equal),
                            equal,
                            !equal,
                            less,
                            less || equal,
                            greater,
                            greater || equal,
                            less || greater,
                            !unordered,
                            unordered,
                            std::isnan(a),
                            std::isinf(a),
                            std::isfinite(a),
                            a_normal,
                            a_negative,
                            less || greater,
                            !(less || greater),
                            std::isnan(a) == b_negative,
                            std::isinf(a) && !std::isinf(b)};
  std::uint32_t bits = 0, bit = 1;
  for (const bool holds : relations) {
    if (holds) bits |= bit;
    bit <<= 1;
  }
  return bits;
}

template <typename T>
void expect_choices(Functions& functions, std::size_t lanes, const std::vector<T>& x,
                    const std::vector<T>& y) {
  using Bits = BitsOf<T>;
  std::vector<Bits> z(x.size()), a(x.size()), b(x.size()), expected;
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] = static_cast<Bits>(i % 3 == 0   ? 0
                             : i % 5 == 0 ? std::numeric_limits<Bits>::min()
                             : i % 7 == 0 ? std::numeric_limits<Bits>::max()
                                          : 0x55 - Bits(i));
    a[i] = std::bit_cast<Bits>(x[i]);
    b[i] = std::bit_cast<Bits>(y[i]);
  }
  for (std::size_t i = 0; i < z.size(); ++i)
    expected.push_back(number_of(x[i]) < number_of(y[i]) ? a[i] : b[i]);
  for (std::size_t i = 0; i < z.size(); ++i)
    expected.push_back(static_cast<Bits>((a[i] & ~z[i]) | (b[i] & z[i])));
  for (std::size_t i = 0; i < z.size(); ++i)
    expected.push_back((lanes > 1 ? z[i] < 0 : z[i] != 0) ? b[i] : a[i]);
  const auto got = functions.run<Bits>("choices", 3, std::vector{a, b, z});
  expect_values("a < b ? a : b, bitselect(a, b, c), select(a, b, c) of " + std::to_string(lanes) + " lanes",
                expected, got, functions.device());
  if (lanes == 1) return;
  const auto vectors = functions.run<std::int32_t>("lanes_that_are", 1, std::vector<std::vector<Bits>>{z});
  std::vector<std::int32_t> any_and_all;
  for (std::size_t i = 0; i < z.size() / lanes; ++i) {
    const auto first = z.begin() + static_cast<std::ptrdiff_t>(i * lanes);
    const auto negative =
        std::count_if(first, first + static_cast<std::ptrdiff_t>(lanes), [](Bits bits) { return bits < 0; });
    any_and_all.push_back((negative > 0 ? 1 : 0) | (static_cast<std::size_t>(negative) == lanes ? 2 : 0));
  }
  expect_values("any and all", any_and_all, part_of(vectors, 0, any_and_all.size()), functions.device());
}

// Compares the relations of every pair of special values.
template <typename T>
void expect_relations(const Context& context, const std::string& type) {
  std::vector<T> x, y;
  const auto special = special_numbers<T>(keeps_denormals<T>(context.device()));
  for (const T a : special) {
    for (const T b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  while (x.size() % 3 != 0) {
    x.push_back(special[2]);
    y.push_back(special[4]);
  }
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double a = number_of(x[i]), b = number_of(y[i]);
    const bool normal = std::isfinite(a) && std::fabs(a) >= std::ldexp(1.0L, kLowestExponent<T>);
    expected.push_back(relations_of(a, sign_of(x[i]), normal, b, sign_of(y[i])));
  }
  for (const std::size_t lanes : {1u, 3u}) {
    Functions functions(context, fmt::format("relations_{}_{}", type, lanes));
    step(fmt::format("given relations of {} with {} lanes", type, lanes));
    expect_words(fmt::format("relations of {} with {} lanes, a bit for each", type, lanes), expected,
                 functions.run<std::uint32_t>("relations", 1, std::vector{x, y}), context.device());
    expect_choices(functions, lanes, x, y);
  }
}

}  // namespace

PROCTOR_CHECK(RelationalFunction, FloatResultsAreExact, "K25", kRelations, kGate,
              {"kernel.wrong_result:kernel=relations,arg=2,at=37",
               "kernel.wrong_result:kernel=choices,arg=3,at=37",
               "kernel.wrong_result:kernel=lanes_that_are,arg=1,at=4"}) {
  expect_relations<float>(leased(), "f32");
}

PROCTOR_CHECK(RelationalFunction, DoubleResultsAreExact, "K25", kRelations, kGate,
              .faults = {"kernel.wrong_result:kernel=relations,arg=2,at=37"}, .needs = {"fp64"}) {
  const auto context = leased();
  need(context.device().properties().fp64, "unsupported:fp64");
  expect_relations<double>(context, "f64");
}

PROCTOR_CHECK(RelationalFunction, HalfResultsAreExact, "K25", kRelations, kGate,
              .faults = {"kernel.wrong_result:kernel=relations,arg=2,at=37"}, .needs = {"fp16"}) {
  const auto context = leased();
  need(context.device().properties().fp16, "unsupported:fp16");
  expect_relations<std::uint16_t>(context, "f16");
}

// A check of the atomic flags of OpenCL C, which CUDA lacks.

using suite::kGate;
using suite::step;

PROCTOR_CHECK(
    Atomic, TestAndSetAcquiresFlagOnce, "K33",
    "OpenCL C specification, atomic flag type and operations; SPIR-V specification, OpAtomicFlagTestAndSet",
    kGate, {"kernel.wrong_result:kernel=take_flags,arg=1,at=4"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "flags");
  constexpr std::uint32_t kTakers = 64;
  const auto flags = device_copy(queue, context, std::vector<std::uint32_t>(kTakers + 1));  // all flags clear
  const Buffer out = device_memory(context, 4 * kTakers * sizeof(std::uint32_t));
  for (const bool again : {false, true}) {
    step(again ? "given flags of which every other one is set" : "given flags that are clear");
    queue.launch(Kernel(module, "take_flags"), cover(kTakers, 16), arguments(flags, out, kTakers));
    queue.synchronize();
    const auto got = read_as<std::uint32_t>(queue, context, out);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < kTakers; ++i) expected.push_back(again && i % 2 == 0 ? 1 : 0);
    expected.insert(expected.end(), kTakers, 1);
    expected.insert(expected.end(), kTakers, 0);
    expect_words("set before, when it is set, and when it was cleared", expected,
                 part_of(got, 0, 3 * kTakers), context.device());
    suite::expect_same("work-items that find the flag of all clear", again ? "0" : "1",
                       std::to_string(std::count(got.begin() + 3 * kTakers, got.end(), 0u)));
  }
}

}  // namespace proctor::accel
