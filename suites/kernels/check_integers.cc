// Checks of integer operations and conversions that have exactly one right result.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kIntegers =
    by_vendor("OpenCL C specification, integer functions; OpenCL-CTS, integer_ops",
              "CUDA Math API, integer intrinsics");
constexpr const char* kConversions = by_vendor("OpenCL C specification, conversions; OpenCL-CTS, conversions",
                                               "CUDA Math API, type casting intrinsics");
constexpr std::uint32_t kSamples = 1024;

std::uint32_t as_unsigned(std::int32_t value) { return static_cast<std::uint32_t>(value); }
std::int32_t as_signed(std::uint32_t value) { return static_cast<std::int32_t>(value); }

// Noise, with edge values at the begin.
std::vector<std::uint32_t> edge_words(std::uint64_t seed) {
  auto words = noise_words(kSamples, seed);
  const std::uint32_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe};
  // Over both inputs, every pair of edge values occurs once. `seed` selects the input.
  for (std::size_t i = 0; i < 64; ++i) words[i] = edges[seed % 2 == 0 ? i % 8 : i / 8];
  return words;
}

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

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

// ---- integers ----

namespace {

template <typename T>
using WideOf = std::conditional_t<std::is_signed_v<T>, Wide, UnsignedWide>;
template <typename T>
constexpr int kIntegerBits = 8 * sizeof(T);

template <typename T>
struct IntegerOperation {
  const char* name;
  T (*result)(T a, T b);
};

template <typename T>
int shift_by(T b) {
  return static_cast<int>(static_cast<std::make_unsigned_t<T>>(b) % static_cast<unsigned>(kIntegerBits<T>));
}
template <typename T>
T stopped(Wide value) {
  const Wide low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return static_cast<T>(value < low ? low : value > high ? high : value);
}
template <typename T>
T relations(T a, T b) {
  return static_cast<T>((a < b ? 1 : 0) | (a <= b ? 2 : 0) | (a == b ? 4 : 0) | (a != b ? 8 : 0) |
                        (a >= b ? 16 : 0) | (a > b ? 32 : 0));
}

// The results of integers.cl, in its order: operations that depend on the sign, and operations that do not.
template <typename T>
constexpr IntegerOperation<T> kOrdered[] = {
    {"a >> b", [](T a, T b) { return static_cast<T>(a >> shift_by(b)); }},
    {"min(a, b)", [](T a, T b) { return std::min(a, b); }},
    {"max(a, b)", [](T a, T b) { return std::max(a, b); }},
    {"the relations of a and b", [](T a, T b) { return relations(a, b); }},
    {"mul_hi(a, b)", [](T a, T b) { return static_cast<T>(WideOf<T>{a} * b >> kIntegerBits<T>); }},
    {"add_sat(a, b)", [](T a, T b) { return stopped<T>(Wide{a} + b); }},
    {"sub_sat(a, b)", [](T a, T b) { return stopped<T>(Wide{a} - b); }},
    {"abs_diff(a, b)", [](T a, T b) { return static_cast<T>(a < b ? Wide{b} - a : Wide{a} - b); }},
    {"hadd(a, b)", [](T a, T b) { return static_cast<T>((Wide{a} + b) >> 1); }},
    {"rhadd(a, b)", [](T a, T b) { return static_cast<T>((Wide{a} + b + 1) >> 1); }}};
template <typename T>
constexpr IntegerOperation<T> kModular[] = {
    {"a + b", [](T a, T b) { return static_cast<T>(UnsignedWide{a} + b); }},
    {"a - b", [](T a, T b) { return static_cast<T>(UnsignedWide{a} - b); }},
    {"a * b", [](T a, T b) { return static_cast<T>(UnsignedWide{a} * b); }},
    {"a << b", [](T a, T b) { return static_cast<T>(UnsignedWide{a} << shift_by(b)); }},
    {"a & b", [](T a, T b) { return static_cast<T>(a & b); }},
    {"a | b", [](T a, T b) { return static_cast<T>(a | b); }},
    {"a ^ b", [](T a, T b) { return static_cast<T>(a ^ b); }},
    {"~a", [](T a, T) { return static_cast<T>(~a); }},
    {"-a", [](T a, T) { return static_cast<T>(UnsignedWide{0} - a); }},
    {"rotate(a, b)", [](T a, T b) { return std::rotl(a, shift_by(b)); }},
    {"popcount(a)", [](T a, T) { return static_cast<T>(std::popcount(a)); }},
    {"clz(a)", [](T a, T) { return static_cast<T>(std::countl_zero(a)); }}};
template <typename T>
constexpr IntegerOperation<T> kQuotient[] = {{"a / b", [](T a, T b) { return static_cast<T>(a / b); }}};
template <typename T>
constexpr IntegerOperation<T> kRemainder[] = {{"a % b", [](T a, T b) { return static_cast<T>(a % b); }}};

// Every pair of edge values, and noise. The count is divisible by every number of lanes.
constexpr std::uint32_t kOperands = 480;
template <typename T>
struct IntegerOperands {
  IntegerOperands() {
    constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    const auto of = [](auto value) { return static_cast<T>(value); };
    const T edges[] = {0,
                       1,
                       2,
                       3,
                       of(kIntegerBits<T> - 1),
                       of(kIntegerBits<T> / 2),
                       of(-1),
                       of(-2),
                       of(-3),
                       kLow,
                       of(kLow + 1),
                       kHigh,
                       of(kHigh - 1),
                       of(kHigh / 2),
                       of(kHigh / 2 + 1)};
    for (const T a : edges) {
      for (const T b : edges) {
        x.push_back(a);
        y.push_back(b);
      }
    }
    const auto more = noise((kOperands - x.size()) * 2 * sizeof(T), sizeof(T));
    for (std::size_t at = 0; x.size() < kOperands; at += 2 * sizeof(T)) {
      T pair[2];
      std::memcpy(pair, &more[at], sizeof pair);
      x.push_back(pair[0]);
      y.push_back(pair[1]);
    }
  }
  // False for a division by zero and for the division that overflows. Their results are undefined, but they must
  // not end the kernel.
  bool divides(std::size_t i) const {
    return y[i] != 0 &&
           !(std::is_signed_v<T> && x[i] == std::numeric_limits<T>::min() && y[i] == static_cast<T>(-1));
  }

  std::vector<T> x, y;
};

// One module of integers.cl, for vectors of `lanes` lanes; 1: for scalars.
class IntegerKernels {
 public:
  IntegerKernels(const Context& context, std::uint32_t lanes)
      : context_(context),
        queue_(context),
        lanes_(lanes),
        module_(Module::load(context, lanes == 1 ? "integers" : "integers_" + std::to_string(lanes))) {}

  template <typename T>
  void expect(const std::string& kernel, const IntegerOperands<T>& operands,
              std::span<const IntegerOperation<T>> operations, bool division = false) {
    const auto x = operand(operands.x), y = operand(operands.y);
    const Buffer out = device_memory(context_, (operations.size() * kOperands + 1) * sizeof(T));
    suite::step("given " + kernel + " of " + std::to_string(lanes_) + " lanes");
    // The address is aligned for an element, but not for a vector.
    queue_.launch(Kernel(module_, kernel), cover(kOperands / lanes_, 64),
                  arguments(x.data() + sizeof(T), y.data() + sizeof(T), out.data() + sizeof(T), kOperands));
    queue_.synchronize();
    const auto got = read_as<T>(queue_, context_, out);
    for (std::size_t k = 0; k < operations.size(); ++k) {
      std::vector<T> expected;
      for (std::size_t i = 0; i < kOperands; ++i) {
        const bool defined = !division || operands.divides(i);
        expected.push_back(defined ? operations[k].result(operands.x[i], operands.y[i])
                                   : got[1 + k * kOperands + i]);
      }
      expect_values(kernel + " of " + std::to_string(lanes_) + " lanes: " + operations[k].name, expected,
                    part_of(got, 1 + k * kOperands, kOperands), context_.device());
    }
  }

  template <typename T>
  void expect_type(const std::string& type) {
    const IntegerOperands<T> operands;
    expect<T>("ordered_" + type, operands, kOrdered<T>);
    if constexpr (std::is_unsigned_v<T>) expect<T>("modular_" + type, operands, kModular<T>);
    expect<T>("quotients_" + type, operands, kQuotient<T>, true);
    expect<T>("remainders_" + type, operands, kRemainder<T>, true);
  }

 private:
  template <typename T>
  Buffer operand(std::vector<T> values) {
    values.insert(values.begin(), T{0});
    return device_copy(queue_, context_, values);
  }

  Context context_;
  Queue queue_;
  std::uint32_t lanes_;
  Module module_;
};

void expect_integers(std::uint32_t lanes) {
  IntegerKernels kernels(leased(), lanes);
  kernels.expect_type<std::int8_t>("i8");
  kernels.expect_type<std::uint8_t>("u8");
  kernels.expect_type<std::int16_t>("i16");
  kernels.expect_type<std::uint16_t>("u16");
  kernels.expect_type<std::int32_t>("i32");
  kernels.expect_type<std::uint32_t>("u32");
  kernels.expect_type<std::int64_t>("i64");
  kernels.expect_type<std::uint64_t>("u64");
}

}  // namespace

PROCTOR_CHECK(Integer, OperationsAreExactInEveryType, "K27", kIntegers, kGate,
              {"kernel.wrong_result:kernel=ordered_i8,arg=2,at=36",
               "kernel.wrong_result:kernel=modular_u64,arg=2,at=40",
               "kernel.wrong_result:kernel=remainders_i16,arg=2,at=12"}) {
  // CUDA has no vector arithmetic.
  for (const std::uint32_t lanes : by_vendor<std::vector<std::uint32_t>>({1, 2, 3, 4, 8, 16}, {1}))
    expect_integers(lanes);
}

// ---- conversions ----

PROCTOR_CHECK(Conversion, FloatToIntegerHonorsRoundingMode, "K26", kConversions, kGate,
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

PROCTOR_CHECK(Conversion, IntegerToFloatRoundsToEven, "K26", kConversions, kGate,
              {"kernel.wrong_result:arg=1,at=8"}) {
  const auto context = leased();
  auto x = edge_words(1);
  for (std::uint32_t i = 0; i < 256; ++i)
    x[100 + i] = 0x1000000 + i;  // numbers that need one more bit than a float has
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t word : x) {
    expected.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(as_signed(word))));
    expected.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(word)));
  }
  expect_words("from int and uint, as bits", expected,
               run_integers<std::uint32_t>(context, "conversions", "int_to_float", 2, x), context.device());
}

PROCTOR_CHECK(Conversion, FloatToHalfRoundsToEven, "K26", kConversions, kGate,
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

PROCTOR_CHECK(Conversion, EveryHalfConvertsToFloatExactly, "K26", kConversions, kGate,
              {"kernel.wrong_result:arg=1,at=4"}) {
  const auto context = leased();
  std::vector<std::uint16_t> x;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0) continue;  // The payload of a NaN may change.
    x.push_back(static_cast<std::uint16_t>(half));
    expected.push_back(std::bit_cast<std::uint32_t>(kernels::float_from_half(x.back())));
  }
  while (x.size() % 64 != 0) {  // Fills the last group.
    x.push_back(0);
    expected.push_back(0);
  }
  expect_words("floats, as bits", expected,
               run_integers<std::uint32_t>(context, "conversions", "half_to_float", 1, x), context.device());
}

PROCTOR_CHECK(Process, LaunchKeepsHostRoundingMode, "K25",
              "C standard, floating-point environment: a call keeps the mode", kGate,
              {"host.rounding_mode_changed"}) {
  const auto context = leased();
  step("given a queue, a module and a launch");
  run_integers<std::uint32_t>(context, "conversions", "int_to_float", 2, noise_words(64, 7));
  suite::expect_same("rounding mode of this thread", std::to_string(FE_TONEAREST),
                     std::to_string(std::fegetround()));
}

}  // namespace proctor::accel
