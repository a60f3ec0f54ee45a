// The functions of floats.cl: what each computes, and how exact OpenCL C wants it. Source: The OpenCL C
// Specification, tables "ULP values for single precision built-in math functions" and "... double precision
// ...", full profile.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace proctor::kernels {

struct MathFunction {
  std::string_view name;
  std::uint32_t which;  // the number in floats.cl
  double single_ulp;    // 0: correctly rounded, compared by bits
  double double_ulp;
  double low, high;                             // arguments are taken from here
  double (*in_double)(double, double, double);  // reference for single precision
  long double (*in_long_double)(long double, long double, long double);
};

std::span<const MathFunction> math_functions();
const MathFunction& math_function(std::string_view name);

}  // namespace proctor::kernels
