// Formats of 8 and 16 bits, computed on the host by their definitions: IEEE 754 binary16, bfloat16, and the two of
// "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace proctor::kernels {

// One format.
struct NarrowFormat {
  std::string_view name;
  int exponent_bits;
  int mantissa_bits;
  // False: all ones is the only NaN, and other patterns with the largest exponent are numbers.
  bool has_infinity;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

std::span<const NarrowFormat> narrow_formats();
const NarrowFormat& narrow_format(std::string_view name);

// The exact value; NaN for every NaN.
double value_of(const NarrowFormat& format, std::uint32_t bits);
// Rounds to the nearest, ties to even. A value that is too large becomes infinite, or NaN if there is no
// infinity.
std::uint32_t bits_of(const NarrowFormat& format, double value);
bool is_nan(const NarrowFormat& format, std::uint32_t bits);

}  // namespace proctor::kernels
