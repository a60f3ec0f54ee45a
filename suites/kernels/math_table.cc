#include "suites/kernels/math_table.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace proctor::kernels {
namespace {

// Constant, because checks register themselves by it before main(). One expression for both precisions.
#define ROW(name, which, single, double_, cuda_single, cuda_double, low, high, expression)              \
  MathFunction {                                                                                        \
    name, which, {single, double_}, {cuda_single, cuda_double}, low, high,                              \
        []([[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> double { \
          return expression;                                                                            \
        },                                                                                              \
        []([[maybe_unused]] long double a, [[maybe_unused]] long double b,                              \
           [[maybe_unused]] long double c) -> long double { return expression; }                        \
  }

// clang-format off
constexpr MathFunction kTable[] = {
    //   name      no  OpenCL    CUDA    arguments      reference
    //                 f32  f64  f32 f64
    ROW("add",       0,    0,   0,  0,  0,  -1e6,  1e6,   a + b),
    ROW("subtract",  1,    0,   0,  0,  0,  -1e6,  1e6,   a - b),
    ROW("multiply",  2,    0,   0,  0,  0,  -1e6,  1e6,   a * b),
    ROW("divide",    3,  2.5,   0,  0,  0,  -1e6,  1e6,   a / b),
    ROW("fma",       4,    0,   0,  0,  0,  -1e3,  1e3,   std::fma(a, b, c)),
    ROW("sqrt",      5,    3,   0,  0,  0,     0,    1e9,   std::sqrt(a)),
    ROW("exp",       6,    3,   3,  2,  1,   -80,   80,    std::exp(a)),
    ROW("log",       7,    3,   3,  1,  1,  1e-6, 1e6,   std::log(a)),
    ROW("sin",       8,    4,   4,  2,  2,  -100,  100,   std::sin(a)),
    ROW("cos",       9,    4,   4,  2,  2,  -100,  100,   std::cos(a)),
    ROW("tan",      10,    5,   5,  4,  2,  -100,  100,   std::tan(a)),
    ROW("pow",      11,   16,  16,  4,  2,  0.01, 20,    std::pow(a, b)),
    ROW("tanh",     12,    5,   5,  2,  2,   -12,   12,    std::tanh(a)),
    ROW("rsqrt",    13,    2,   2,  2,  1,  1e-6, 1e6,   1 / std::sqrt(a)),
    ROW("erf",      14,   16,  16,  2,  2,    -4,    4,     std::erf(a)),
    ROW("exp2",     15,    3,   3,  2,  1,  -100,  100,   std::exp2(a)),
    ROW("log2",     16,    3,   3,  1,  1,  1e-6, 1e6,   std::log2(a)),
    ROW("atan2",    17,    6,   6,  3,  2,   -10,   10,    std::atan2(a, b)),
    ROW("cbrt",     18,    2,   2,  1,  1,  -1e6,  1e6,   std::cbrt(a)),
    ROW("hypot",    19,    4,   4,  3,  2,  -1e6,  1e6,   std::hypot(a, b)),
    ROW("floor",    20,    0,   0,  0,  0,  -1e6,  1e6,   std::floor(a)),
    ROW("ceil",     21,    0,   0,  0,  0,  -1e6,  1e6,   std::ceil(a)),
    ROW("trunc",    22,    0,   0,  0,  0,  -1e6,  1e6,   std::trunc(a)),
    ROW("rint",     23,    0,   0,  0,  0,  -1e3,  1e3,   std::nearbyint(a)),
    ROW("fabs",     24,    0,   0,  0,  0,  -1e6,  1e6,   std::fabs(a)),
    ROW("fmin",     25,    0,   0,  0,  0,  -1e6,  1e6,   std::fmin(a, b)),
    ROW("fmax",     26,    0,   0,  0,  0,  -1e6,  1e6,   std::fmax(a, b)),
    ROW("fmod",     27,    0,   0,  0,  0,  -1e3,  1e3,   std::fmod(a, b)),
    ROW("copysign", 28,    0,   0,  0,  0,  -1e6,  1e6,   std::copysign(a, b)),
    ROW("negate",   29,    0,   0,  0,  0,  -1e6,  1e6,   -a),
};
// clang-format on

}  // namespace

std::span<const MathFunction> math_functions() { return kTable; }

const MathFunction& math_function(std::string_view name) {
  for (const MathFunction& row : kTable) {
    if (row.name == name) return row;
  }
  throw std::out_of_range("no function " + std::string(name));
}

}  // namespace proctor::kernels
