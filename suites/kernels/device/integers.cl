// Integer operations with exactly one right result, for every width with and without sign. OpenCL also has them
// for vectors of LANES elements, CUDA does not. Result k of element i is out[k * n + i], for any number of lanes.
// The order of the results is that of suites/kernels/check_integers.cc.
#include "suites/kernels/device/portable_cuda.h"

#ifndef LANES
#define LANES 1
#endif

#include "suites/kernels/device/vectors.h"

// OpenCL's abs_diff() is unsigned.
#ifdef __CUDACC__
#define SAME_BITS(T, value) (T)(value)
#else
#define SAME_BITS(T, value) JOINED(as_, VECTOR(T))(value)
#endif

#define WITH_OPERANDS(T, statements)                  \
  {                                                   \
    const uint i = GLOBAL_ID(0);                      \
    if (i >= n / LANES) return;                       \
    const VECTOR(T) a = LOAD(i, x), b = LOAD(i, y);   \
    statements                                        \
  }
#define RESULT(k, value) STORE(value, i, out + k * n);

// Bit k is set if relation number k holds.
#define BIT_IF(T, k, relation) ((relation) ? (VECTOR(T))(1 << k) : (VECTOR(T))(0))

// Operations that depend on the sign.
#define ORDERED(T, name)                                                                          \
  KERNEL ordered_##name(GLOBAL const T* x, GLOBAL const T* y, GLOBAL T* out, uint n)              \
  WITH_OPERANDS(                                                                                  \
      T, RESULT(0, a >> (b & (VECTOR(T))(8 * sizeof(T) - 1)))                                     \
         RESULT(1, min(a, b))                                                                     \
         RESULT(2, max(a, b))                                                                     \
         RESULT(3, BIT_IF(T, 0, a < b) | BIT_IF(T, 1, a <= b) | BIT_IF(T, 2, a == b) |            \
                       BIT_IF(T, 3, a != b) | BIT_IF(T, 4, a >= b) | BIT_IF(T, 5, a > b))         \
         RESULT(4, mul_hi(a, b))                                                                  \
         RESULT(5, add_sat(a, b))                                                                 \
         RESULT(6, sub_sat(a, b))                                                                 \
         RESULT(7, SAME_BITS(T, abs_diff(a, b)))                                          \
         RESULT(8, hadd(a, b))                                                                    \
         RESULT(9, rhadd(a, b)))

// Operations modulo 2^bits, which do not depend on the sign.
#define MODULAR(T, name)                                                                          \
  KERNEL modular_##name(GLOBAL const T* x, GLOBAL const T* y, GLOBAL T* out, uint n)              \
  WITH_OPERANDS(                                                                                  \
      T, RESULT(0, a + b)                                                                         \
         RESULT(1, a - b)                                                                         \
         RESULT(2, a * b)                                                                         \
         RESULT(3, a << (b & (VECTOR(T))(8 * sizeof(T) - 1)))                                     \
         RESULT(4, a & b)                                                                         \
         RESULT(5, a | b)                                                                         \
         RESULT(6, a ^ b)                                                                         \
         RESULT(7, ~a)                                                                            \
         RESULT(8, -a)                                                                            \
         RESULT(9, rotate(a, (VECTOR(T))(b & (VECTOR(T))(8 * sizeof(T) - 1))))                                 \
         RESULT(10, popcount(a))                                                                  \
         RESULT(11, clz(a)))

// Division, also by 0 and with overflow, whose results are undefined. Quotient and remainder are separate kernels,
// because the optimizer joins the two by an instruction (freeze) that llvm-spirv-15 cannot translate.
#define DIVISION(T, name)                                                                         \
  KERNEL quotients_##name(GLOBAL const T* x, GLOBAL const T* y, GLOBAL T* out, uint n)            \
  WITH_OPERANDS(T, RESULT(0, a / b))                                                              \
  KERNEL remainders_##name(GLOBAL const T* x, GLOBAL const T* y, GLOBAL T* out, uint n)           \
  WITH_OPERANDS(T, RESULT(0, a % b))

// The char of the host is signed.
#ifdef __CUDACC__
#define CHAR signed char
#else
#define CHAR char
#endif

#define INTEGER(T, name) ORDERED(T, name) DIVISION(T, name)
#define UNSIGNED_INTEGER(T, name) INTEGER(T, name) MODULAR(T, name)

INTEGER(CHAR, i8)
INTEGER(short, i16)
INTEGER(int, i32)
INTEGER(long, i64)
UNSIGNED_INTEGER(uchar, u8)
UNSIGNED_INTEGER(ushort, u16)
UNSIGNED_INTEGER(uint, u32)
UNSIGNED_INTEGER(ulong, u64)
