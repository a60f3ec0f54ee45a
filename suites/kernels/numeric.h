// How results of floating point are judged: exactly, by units in the last place, or by a derived bound.
// Nothing here lets a NaN pass that is not expected.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace proctor::kernels {

// The distance of `got` from `reference` in units in the last place of the type at the reference, which has
// more precision (rule of OpenCL-CTS test_common/harness/errorHelpers.cpp). A NaN is at distance 0 from a NaN
// and infinitely far from everything else. An infinity that should have been finite counts as the next power
// of two, so that overflow by rounding is judged by its size.
double ulp_distance(double reference, float got);
double ulp_distance(long double reference, double got);

// The same for IEEE 754 binary16, by its bits.
double half_ulp_distance(double reference, std::uint16_t got);

// Whether a reference would be a denormal number of the type, so that a device that flushes may answer zero.
bool is_denormal_float(double reference);

// IEEE 754 binary16, to nearest even.
std::uint16_t half_from_float(float value);
float float_from_half(std::uint16_t half);

// The relative error that n roundings of a float may cause: n u / (1 - n u), u = 2^-24 (Higham, Accuracy and
// Stability of Numerical Algorithms, lemma 3.1). A sum of K products by fused multiply-add has n = K.
double rounding_bound(std::size_t roundings);

// An element whose error is over its bound, as text; "" when there is none. `weight` is the sum of absolute
// values that the bound multiplies. A NaN is over every bound.
struct Judged {
  double reference = 0;
  double weight = 0;
};
std::string first_over_bound(std::span<const Judged> expected, std::span<const float> got,
                             std::size_t roundings);

}  // namespace proctor::kernels
