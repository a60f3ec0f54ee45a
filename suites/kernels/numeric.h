// How floating-point results are judged: exactly, by units in the last place, or by a bound that is derived.
// No function here accepts a NaN that is not expected.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace proctor::kernels {

// The distance of `got` from `reference`, which has more precision, in units in the last place that the type
// has at the reference (the rule of OpenCL-CTS test_common/harness/errorHelpers.cpp). A NaN has distance 0
// from a NaN and is infinitely far from everything else. An infinity that should be finite counts as the next
// power of two, so that an overflow by rounding is judged by its size.
double ulp_distance(double reference, float got);
double ulp_distance(long double reference, double got);

// The same for IEEE 754 binary16, by its bits.
double half_ulp_distance(double reference, std::uint16_t got);

// Whether the reference is a denormal number of the type. A device that flushes these may then answer zero.
bool is_denormal_float(double reference);

// Conversion to and from IEEE 754 binary16, rounded to nearest even.
std::uint16_t half_from_float(float value);
float float_from_half(std::uint16_t half);

// The relative error that n roundings of a float may cause: n u / (1 - n u) with u = 2^-24 (Higham, Accuracy
// and Stability of Numerical Algorithms, lemma 3.1). A sum of K products by fused multiply-add has n = K.
double rounding_bound(std::size_t roundings);

// A text about the first element whose error is over its bound, or "" when there is none. The bound is
// multiplied by `weight`, a sum of absolute values. A NaN is over every bound.
struct Judged {
  double reference = 0;
  double weight = 0;
};
std::string first_over_bound(std::span<const Judged> expected, std::span<const float> got,
                             std::size_t roundings);

// The functions of floats.cl: what each computes, and how exact it must be in its language. Sources: The
// OpenCL C Specification, tables "ULP values for single precision built-in math functions" and "... double
// precision ...", full profile; CUDA Programming Guide, "Mathematical Functions", maximum ulp error of
// the standard functions.

// How far a result may be off, in units in the last place. 0: correctly rounded, compared by bits.
struct UlpLimits {
  double in_single;
  double in_double;
};

struct MathFunction {
  std::string_view name;
  std::uint32_t which;  // the number in floats.cl
  UlpLimits opencl;
  UlpLimits cuda;
  double low, high;                             // arguments are taken from here
  double (*in_double)(double, double, double);  // reference for single precision
  long double (*in_long_double)(long double, long double, long double);
};

std::span<const MathFunction> math_functions();
const MathFunction& math_function(std::string_view name);

}  // namespace proctor::kernels
