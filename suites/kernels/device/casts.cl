// Conversions from every number type to every other. FP64 and FP16 select the pairs with double or half, which not
// every device supports.
#include "suites/kernels/device/portable_cuda.h"

#ifdef __CUDACC__
#define CHAR signed char  // the char of the host is signed
#define CAST(TO, value) ((TO)(value))
#define SATURATED(TO, value) ((value) != (value) ? (TO)0 : saturated_from_float<TO>(value))  // 0 for NaN
#else
#define CHAR char
#define CAST(TO, value) convert_##TO(value)
#define SATURATED(TO, value) convert_##TO##_sat(value)
#endif

#if defined(FP64) && !defined(__CUDACC__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if defined(FP16) && !defined(__CUDACC__)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

// Rounds as the language does by default. A float out of the range of the integer type has no defined result.
#define PLAIN(FROM, from, TO, to)                                               \
  KERNEL cast_##from##_##to(GLOBAL const FROM* x, GLOBAL TO* out, uint n) {     \
    const uint i = GLOBAL_ID(0);                                                \
    if (i < n) out[i] = CAST(TO, x[i]);                                         \
  }

// Converts to an integer type and saturates at its limits.
#define SATURATING(FROM, from, TO, to)                                          \
  KERNEL saturate_##from##_##to(GLOBAL const FROM* x, GLOBAL TO* out, uint n) { \
    const uint i = GLOBAL_ID(0);                                                \
    if (i < n) out[i] = SATURATED(TO, x[i]);                                    \
  }

// Rounds to the nearest, towards zero, up, and down. The four results follow one another in planes. The CUDA
// runtime has such functions for few of the pairs.
#ifdef __CUDACC__
#define FOUR_WAYS(FROM, from, TO, to, stops)
#else
#define FOUR_WAYS(FROM, from, TO, to, stops)                                    \
  KERNEL round_##from##_##to(GLOBAL const FROM* x, GLOBAL TO* out, uint n) {    \
    const uint i = GLOBAL_ID(0);                                                \
    if (i >= n) return;                                                         \
    out[i] = convert_##TO##stops##_rte(x[i]);                                   \
    out[n + i] = convert_##TO##stops##_rtz(x[i]);                               \
    out[2u * n + i] = convert_##TO##stops##_rtp(x[i]);                          \
    out[3u * n + i] = convert_##TO##stops##_rtn(x[i]);                          \
  }
#endif

#define FOR_INTEGERS(X, ...)   \
  X(CHAR, i8, __VA_ARGS__)     \
  X(uchar, u8, __VA_ARGS__)    \
  X(short, i16, __VA_ARGS__)   \
  X(ushort, u16, __VA_ARGS__)  \
  X(int, i32, __VA_ARGS__)     \
  X(uint, u32, __VA_ARGS__)    \
  X(long, i64, __VA_ARGS__)    \
  X(ulong, u64, __VA_ARGS__)

#define FLOAT_TO(TO, to, FROM, from) \
  PLAIN(FROM, from, TO, to) SATURATING(FROM, from, TO, to) FOUR_WAYS(FROM, from, TO, to, _sat)
#define TO_FLOAT(FROM, from, TO, to) PLAIN(FROM, from, TO, to) FOUR_WAYS(FROM, from, TO, to, )
// Between integer types. CUDA has no saturating function for them.
#ifdef __CUDACC__
#define BETWEEN(FROM, from, TO, to) PLAIN(FROM, from, TO, to)
#else
#define BETWEEN(FROM, from, TO, to) PLAIN(FROM, from, TO, to) SATURATING(FROM, from, TO, to)
#endif
#define BOTH_WAYS(T, t) FOR_INTEGERS(FLOAT_TO, T, t) FOR_INTEGERS(TO_FLOAT, T, t)

#if defined(FP64) && defined(FP16)
PLAIN(half, f16, double, f64)
TO_FLOAT(double, f64, half, f16)
#elif defined(FP64)
BOTH_WAYS(double, f64)
PLAIN(float, f32, double, f64)
TO_FLOAT(double, f64, float, f32)
#elif defined(FP16)
BOTH_WAYS(half, f16)
PLAIN(half, f16, float, f32)
TO_FLOAT(float, f32, half, f16)
#else
BOTH_WAYS(float, f32)
FOR_INTEGERS(BETWEEN, CHAR, i8)
FOR_INTEGERS(BETWEEN, uchar, u8)
FOR_INTEGERS(BETWEEN, short, i16)
FOR_INTEGERS(BETWEEN, ushort, u16)
FOR_INTEGERS(BETWEEN, int, i32)
FOR_INTEGERS(BETWEEN, uint, u32)
FOR_INTEGERS(BETWEEN, long, i64)
FOR_INTEGERS(BETWEEN, ulong, u64)
#endif
