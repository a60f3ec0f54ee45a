#include "suites/kernels/narrow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace proctor::kernels {
namespace {

// Constant, because checks are registered with these formats before main().
constexpr NarrowFormat kFormats[] = {
    {"f16", 5, 10, true}, {"bf16", 8, 7, true}, {"e4m3", 4, 3, false}, {"e5m2", 5, 2, true}};

struct Parts {
  bool negative;
  int exponent;  // as stored
  std::uint32_t mantissa;
};

Parts parts_of(const NarrowFormat& format, std::uint32_t bits) {
  return {(bits >> (format.bits() - 1) & 1) != 0,
          static_cast<int>(bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1)),
          bits & ((1u << format.mantissa_bits) - 1)};
}

std::uint32_t all_ones(int bits) { return (1u << bits) - 1; }

// The pattern after the largest number: an infinity, or else the NaN.
std::uint32_t after_the_largest(const NarrowFormat& format) {
  const std::uint32_t top = all_ones(format.exponent_bits) << format.mantissa_bits;
  return format.has_infinity ? top : top | all_ones(format.mantissa_bits);
}

}  // namespace

std::span<const NarrowFormat> narrow_formats() { return kFormats; }

const NarrowFormat& narrow_format(std::string_view name) {
  const auto found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                  [&](const auto& each) { return each.name == name; });
  if (found == std::end(kFormats)) throw std::out_of_range("no format " + std::string(name));
  return *found;
}

bool is_nan(const NarrowFormat& format, std::uint32_t bits) {
  const std::uint32_t size = bits & all_ones(format.bits() - 1);
  return format.has_infinity ? size > after_the_largest(format) : size == after_the_largest(format);
}

double value_of(const NarrowFormat& format, std::uint32_t bits) {
  if (is_nan(format, bits)) return std::numeric_limits<double>::quiet_NaN();
  const Parts parts = parts_of(format, bits);
  double size = 0;
  if (format.has_infinity && parts.exponent == (1 << format.exponent_bits) - 1) {
    size = std::numeric_limits<double>::infinity();
  } else if (parts.exponent == 0) {
    size = std::scalbn(parts.mantissa, 1 - format.bias() - format.mantissa_bits);
  } else {
    size = std::scalbn(parts.mantissa + (1u << format.mantissa_bits),
                       parts.exponent - format.bias() - format.mantissa_bits);
  }
  return parts.negative ? -size : size;
}

std::uint32_t bits_of(const NarrowFormat& format, double value) {
  const std::uint32_t sign = std::signbit(value) ? 1u << (format.bits() - 1) : 0;
  const std::uint32_t too_large = after_the_largest(format);
  if (std::isnan(value)) return sign | all_ones(format.bits() - 1);
  if (std::isinf(value)) return sign | too_large;
  // In units of the last place at this magnitude. The default rounding mode of nearbyint() is to nearest even.
  const int lowest = 1 - format.bias();
  const int exponent = value == 0 ? lowest : std::max(std::ilogb(value), lowest);
  const double steps = std::nearbyint(std::scalbn(std::fabs(value), format.mantissa_bits - exponent));
  // The leading one adds one to the exponent, and so does a carry.
  const double size = steps + std::scalbn(exponent - lowest, format.mantissa_bits);
  return sign | (size >= too_large ? too_large : static_cast<std::uint32_t>(size));
}

}  // namespace proctor::kernels
