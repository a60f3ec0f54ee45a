// Integer functions that OpenCL has and CUDA lacks, for every width with and without sign, for scalars and for
// vectors of LANES elements. Result k of element i is out[k * n + i]. The order of the results is that of
// suites/kernels/check_functions_xpu.cc.
#include "suites/kernels/device/portable.h"
#include "suites/kernels/device/vectors.h"

#define WITH_OPERANDS(T, statements)                                           \
  {                                                                            \
    const uint i = GLOBAL_ID(0);                                               \
    if (i >= n / LANES) return;                                                \
    const VECTOR(T) a = LOAD(i, x), b = LOAD(i, y), c = LOAD(i, z);            \
    statements                                                                 \
  }
#define RESULT(k, value) STORE(value, i, out + k * n);

// A remainder with the sign of the divisor. OpenCL C has only one with the sign of the dividend.
#define DECLARE(T)                                                             \
  VECTOR(T) __attribute__((overloadable)) __spirv_SMod(VECTOR(T), VECTOR(T));
DECLARE(char) DECLARE(short) DECLARE(int) DECLARE(long)

#define FUNCTIONS(T, name)                                                     \
  KERNEL functions_##name(GLOBAL const T* x, GLOBAL const T* y, GLOBAL const T* z, GLOBAL T* out, uint n) \
  WITH_OPERANDS(                                                               \
      T, RESULT(0, JOINED(as_, VECTOR(T))(abs(a)))                             \
         RESULT(1, clamp(a, min(b, c), max(b, c)))                             \
         RESULT(2, mad_hi(a, b, c))                                            \
         RESULT(3, mad_sat(a, b, c))                                           \
         RESULT(4, bitselect(a, b, c))                                         \
         RESULT(5, select(a, b, c))                                            \
         RESULT(6, ctz(a))                                                     \
         RESULT(7, popcount(a))                                                \
         RESULT(8, clz(a))                                                     \
         RESULT(9, rotate(a, b)))
#define FLOORED(T, name)                                                       \
  KERNEL floored_##name(GLOBAL const T* x, GLOBAL const T* y, GLOBAL const T* z, GLOBAL T* out, uint n) \
  WITH_OPERANDS(T, RESULT(0, __spirv_SMod(a, b)) (void)c;)

// Joins a high half and a low half to a number of twice as many bits.
#define UPSAMPLED(T, LOW, WIDE, name)                                          \
  KERNEL upsampled_##name(GLOBAL const T* x, GLOBAL const LOW* y, GLOBAL WIDE* out, uint n) { \
    const uint i = GLOBAL_ID(0);                                               \
    if (i < n / LANES) STORE(upsample(LOAD(i, x), LOAD(i, y)), i, out);        \
  }

// Functions of operands with 24 bits.
#define SHORTENED(T, name, narrowed)                                           \
  KERNEL shortened_##name(GLOBAL const T* x, GLOBAL const T* y, GLOBAL const T* z, GLOBAL T* out, uint n) \
  WITH_OPERANDS(                                                               \
      T, RESULT(0, mul24(narrowed(a), narrowed(b)))                            \
         RESULT(1, mad24(narrowed(a), narrowed(b), c)))
#define SIGNED_24(value) ((value) << 8 >> 8)
#define UNSIGNED_24(value) ((value) & 0xffffffu)

FUNCTIONS(char, i8)
FUNCTIONS(uchar, u8)
FUNCTIONS(short, i16)
FUNCTIONS(ushort, u16)
FUNCTIONS(int, i32)
FUNCTIONS(uint, u32)
FUNCTIONS(long, i64)
FUNCTIONS(ulong, u64)
FLOORED(char, i8)
FLOORED(short, i16)
FLOORED(int, i32)
FLOORED(long, i64)
UPSAMPLED(char, uchar, short, i8)
UPSAMPLED(uchar, uchar, ushort, u8)
UPSAMPLED(short, ushort, int, i16)
UPSAMPLED(ushort, ushort, uint, u16)
UPSAMPLED(int, uint, long, i32)
UPSAMPLED(uint, uint, ulong, u32)
SHORTENED(int, i32, SIGNED_24)
SHORTENED(uint, u32, UNSIGNED_24)
