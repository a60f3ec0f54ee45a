// The functions of floats.cl: what each computes, and how exact it must be in its language. Sources: The
// OpenCL C Specification, tables "ULP values for single precision built-in math functions" and "... double
// precision ...", full profile; CUDA Programming Guide, "Mathematical Functions", maximum ulp error of
// the standard functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace proctor::kernels {

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
