// Checks of 8-bit and 16-bit formats as storage. Each pattern has its value, and rounding is to nearest. Products
// of matrices in these formats must be as exact as a sum in float allows.
#include <bit>
#include <cmath>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/narrow.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using kernels::NarrowFormat;
using suite::kGate;
using suite::step;

constexpr const char* kFormat = "IEEE 754; OFP8, 1.0";
constexpr const char* kSumBound = "Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1";

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const NarrowFormat& format : kernels::narrow_formats()) names.emplace_back(format.name);
  return names;
}

const NarrowFormat& format() { return kernels::narrow_format(suite::parameter()); }

Module load(const Context& context) { return Module::load(context, "narrow_" + suite::parameter()); }

// Patterns as the device stores them.
std::vector<std::byte> stored(const std::vector<std::uint32_t>& patterns) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t pattern : patterns) {
    bytes.push_back(static_cast<std::byte>(pattern));
    if (format().bits() == 16) bytes.push_back(static_cast<std::byte>(pattern >> 8));
  }
  return bytes;
}

std::vector<std::uint32_t> loaded(const std::vector<std::byte>& bytes) {
  std::vector<std::uint32_t> patterns;
  const std::size_t width = static_cast<std::size_t>(format().bits()) / 8;
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    std::uint32_t pattern = std::to_integer<std::uint32_t>(bytes[i]);
    if (width == 2) pattern |= std::to_integer<std::uint32_t>(bytes[i + 1]) << 8;
    patterns.push_back(pattern);
  }
  return patterns;
}

// The payload of a NaN is not defined, so all NaNs are made equal.
std::uint32_t float_bits(double value) {
  return std::isnan(value) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}
std::uint32_t one_nan(std::uint32_t pattern) {
  return kernels::is_nan(format(), pattern) ? (1u << (format().bits() - 1)) - 1 : pattern;
}

// Numbers of every magnitude of the format, beyond both of its ends, and halfway between neighbours.
std::vector<float> numbers() {
  std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
  const auto words = noise_words(2000, 1);
  const int range = 1 << format().exponent_bits;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const float mantissa = 1 + static_cast<float>(words[i] >> 9) * 0x1p-23f;
    const int exponent = static_cast<int>(i) % (range + 10) - format().bias() - format().mantissa_bits - 3;
    values.push_back(std::scalbn(i % 2 == 0 ? mantissa : -mantissa, exponent));
  }
  for (std::uint32_t pattern = 0; pattern < 200; ++pattern) {
    const double low = kernels::value_of(format(), pattern), high = kernels::value_of(format(), pattern + 1);
    if (std::isfinite(low) && std::isfinite(high)) values.push_back(static_cast<float>((low + high) / 2));
  }
  return values;
}

// The patterns of numbers between -1 and 1.
std::vector<std::uint32_t> narrow_matrix(std::size_t elements, std::uint64_t seed) {
  std::vector<std::uint32_t> patterns;
  for (const std::uint32_t word : noise_words(elements, seed)) {
    patterns.push_back(
        kernels::bits_of(format(), static_cast<double>(static_cast<std::int32_t>(word)) * 0x1p-31));
  }
  return patterns;
}

}  // namespace

PROCTOR_CHECK_EACH(format_names(), NarrowFloat, EveryBitPatternConvertsExactly, "K26", kFormat, kGate,
                   {"kernel.wrong_result:arg=1,at=6", "kernel.skip_group:at=1"}) {
  const auto context = leased();
  Queue queue(context);
  const std::uint32_t count = 1u << format().bits();
  std::vector<std::uint32_t> patterns, expected, got;
  for (std::uint32_t pattern = 0; pattern < count; ++pattern) {
    patterns.push_back(pattern);
    expected.push_back(float_bits(kernels::value_of(format(), pattern)));
  }
  const auto in = device_copy(queue, context, stored(patterns));
  const Buffer out = device_memory(context, std::size_t{4} * count);
  step("given every pattern of " + std::to_string(format().bits()) + " bits");
  queue.launch(Kernel(load(context), "widen_all"), cover(count, 64), arguments(in, out, count));
  queue.synchronize();
  for (const float value : read_as<float>(queue, context, out))
    got.push_back(float_bits(static_cast<double>(value)));
  expect_words("floats, as bits", expected, got, context.device());
}

PROCTOR_CHECK_EACH(format_names(), NarrowFloat, ConversionRoundsToNearestEven, "K26", kFormat, kGate,
                   {"kernel.wrong_result:arg=1,at=0", "kernel.skip_group:at=1"}) {
  const auto context = leased();
  Queue queue(context);
  const auto values = numbers();
  const auto count = static_cast<std::uint32_t>(values.size());
  std::vector<std::uint32_t> expected, got;
  for (const float value : values) {
    expected.push_back(one_nan(kernels::bits_of(format(), static_cast<double>(value))));
  }
  const auto in = device_copy(queue, context, values);
  const Buffer out = device_memory(context, count * static_cast<std::size_t>(format().bits()) / 8);
  step("given " + std::to_string(count) + " floats");
  queue.launch(Kernel(load(context), "narrow_all"), cover(count, 64), arguments(in, out, count));
  queue.synchronize();
  for (const std::uint32_t pattern : loaded(read_bytes(queue, context, out.data(), out.bytes()))) {
    got.push_back(one_nan(pattern));
  }
  expect_words("patterns", expected, got, context.device());
}

PROCTOR_CHECK_EACH(format_names(), NarrowFloat, MatrixProductIsWithinErrorBound, "K29", kSumBound, kGate,
                   {"kernel.wrong_result:arg=2,at=7,xor=0x40", "kernel.skip_group:at=1"}) {
  const auto context = leased();
  Queue queue(context);
  constexpr std::uint32_t kRows = 20, kColumns = 24, kInner = 45;
  const auto a = narrow_matrix(kRows * kInner, 2), b = narrow_matrix(kInner * kColumns, 3);
  std::vector<kernels::Judged> expected(kRows * kColumns);
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    for (std::uint32_t k = 0; k < kInner; ++k) {
      const double term = kernels::value_of(format(), a[i / kColumns * kInner + k]) *
                          kernels::value_of(format(), b[k * kColumns + i % kColumns]);
      expected[i].reference += term;
      expected[i].weight += std::fabs(term);
    }
  }
  const auto left = device_copy(queue, context, stored(a)), right = device_copy(queue, context, stored(b));
  const auto out = device_copy(queue, context, std::vector<float>(expected.size(), NAN));
  step("given a product of 20 x 45 and 45 x 24");
  queue.launch(Kernel(load(context), "narrow_product"), {.groups = {3, 5, 1}, .group = {8, 4, 1}},
               arguments(left, right, out, kRows, kColumns, kInner));
  queue.synchronize();
  const std::string problem =
      kernels::first_over_bound(expected, read_as<float>(queue, context, out), kInner);
  suite::expect_same("element over its bound on " + describe(context.device()), "", problem);
}

}  // namespace proctor::accel
