// Comparison of floating-point results: exactly, in units in the last place, or with a derived bound. Checks and
// their tests use it. No function here accepts an unexpected NaN.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace proctor::kernels {

// The distance of `got` from `reference`, which has more precision. The unit is the unit in the last place of the
// type at the reference (the rule of OpenCL-CTS test_common/harness/errorHelpers.cpp). A NaN has distance 0 from a
// NaN and an infinite distance from everything else. An infinity that should be finite counts as the next power of
// two, so that an overflow by rounding is judged by its size.
double ulp_distance(double reference, float got);
double ulp_distance(long double reference, double got);

// Like ulp_distance(), for the bits of IEEE 754 binary16.
double half_ulp_distance(double reference, std::uint16_t got);

// True if the reference is a denormal number of the type. A device that flushes these may then return zero.
bool is_denormal_float(double reference);

// Conversion to and from IEEE 754 binary16, rounded to nearest even.
std::uint16_t half_from_float(float value);
float float_from_half(std::uint16_t half);

// The relative error that n roundings of a float may cause: n u / (1 - n u) with u = 2^-24 (Higham, Accuracy and
// Stability of Numerical Algorithms, lemma 3.1). A sum of K products by fused multiply-add has n = K.
double rounding_bound(std::size_t roundings);

// A text about the first element whose error exceeds its bound, or "" if there is none. The bound is multiplied by
// `weight`, a sum of absolute values. A NaN exceeds every bound.
struct Judged {
  double reference = 0;
  double weight = 0;
};
std::string first_over_bound(std::span<const Judged> expected, std::span<const float> got,
                             std::size_t roundings);

// The functions of floats.cl: their references and their allowed errors. Sources: The OpenCL C Specification,
// tables "ULP values for single precision built-in math functions" and "... double precision ...", full profile;
// CUDA Programming Guide, "Mathematical Functions", maximum ulp error of the standard functions.

// The allowed error in units in the last place. 0: correctly rounded, compared by bits.
struct UlpLimits {
  double in_single;
  double in_double;
};

// One function of floats.cl, with its limits, its arguments and its references.
struct MathFunction {
  std::string_view name;
  std::uint32_t which;  // number of the function in floats.cl
  UlpLimits opencl;
  UlpLimits cuda;
  double low, high;                             // the range of the arguments
  double (*in_double)(double, double, double);  // reference for single precision
  long double (*in_long_double)(long double, long double, long double);
};

std::span<const MathFunction> math_functions();
const MathFunction& math_function(std::string_view name);

}  // namespace proctor::kernels
