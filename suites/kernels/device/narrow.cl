// Floats that are stored in 8 or 16 bits and computed as float, with one source for every format. EXPONENT and
// MANTISSA are numbers of bits. FINITE: the format has no infinity, and all ones is the only NaN (E4M3).
#include "suites/kernels/device/portable.h"

#define BITS (1 + EXPONENT + MANTISSA)
#define BIAS ((1 << (EXPONENT - 1)) - 1)
#define TOP ((1u << EXPONENT) - 1u)

// The pattern after the largest number, without sign, and its value as a float: an infinity, or the only NaN.
#ifdef FINITE
#define TOO_LARGE (TOP << MANTISSA | ((1u << MANTISSA) - 1u))
#define AS_FLOAT 0x7fc00000u
#else
#define TOO_LARGE (TOP << MANTISSA)
#define AS_FLOAT 0x7f800000u
#endif

#if BITS == 8
typedef uchar narrow;
#else
typedef ushort narrow;
#endif

DEVICE float widen(narrow stored) {
  const uint bits = stored;
  const uint exponent = bits >> MANTISSA & TOP;
  const uint mantissa = bits & ((1u << MANTISSA) - 1u);
  const uint sign = bits >> (BITS - 1) << 31;
  const uint size = bits & ((1u << (BITS - 1)) - 1u);
  if (size > TOO_LARGE) return as_float(sign | 0x7fc00000u);
  if (size == TOO_LARGE) return as_float(sign | AS_FLOAT);
  // If the format has float's exponents, its denormal numbers are denormal floats. A device that flushes must not
  // compute with them.
  const bool as_in_float = BIAS == 127;
  if (exponent != 0u || as_in_float) {
    return as_float(sign | (exponent + 127u - BIAS) << 23 | mantissa << (23 - MANTISSA));
  }
  const float steps = ldexp((float)mantissa, 1 - BIAS - MANTISSA);
  return sign != 0u ? -steps : steps;
}

KERNEL widen_all(GLOBAL const narrow* in, GLOBAL float* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = widen(in[i]);
}

// c = a b, summed in float and in order. a is M x K, b is K x N.
KERNEL narrow_product(GLOBAL const narrow* a, GLOBAL const narrow* b, GLOBAL float* c, uint M, uint N,
                      uint K) {
  const uint column = GLOBAL_ID(0), row = GLOBAL_ID(1);
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (uint k = 0; k < K; ++k) sum = FMA(widen(a[row * K + k]), widen(b[k * N + column]), sum);
  c[row * N + column] = sum;
}

// Rounds to nearest, ties to even. A value that is too large becomes infinite, or NaN if there is no infinity.
DEVICE narrow narrowed(float value) {
  const uint bits = as_uint(value);
  const uint sign = bits >> 31 << (BITS - 1);
  const uint size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (narrow)(sign | TOP << MANTISSA | ((1u << MANTISSA) - 1u));
  const int exponent = (int)max(size >> 23, 1u) - 127 + BIAS;
  // The mantissa with its leading one, shifted right until the last kept bit is in its place.
  const uint whole = (size & 0x7fffffu) | (size >> 23 != 0u ? 0x800000u : 0u);
  const uint away = 23 - MANTISSA + (exponent > 0 ? 0 : 1 - exponent);
  uint kept = 0u;
  if (away < 25u) {
    const uint rest = whole & ((1u << away) - 1u), half_way = 1u << (away - 1u);
    kept = whole >> away;
    kept += rest > half_way || (rest == half_way && (kept & 1u) != 0u) ? 1u : 0u;
  }
  // A carry out of the mantissa correctly increases the exponent.
  const uint result = exponent > 0 ? ((uint)(exponent - 1) << MANTISSA) + kept : kept;
  return (narrow)(sign | (result > TOO_LARGE || size == 0x7f800000u ? TOO_LARGE : result));
}

KERNEL narrow_all(GLOBAL const float* in, GLOBAL narrow* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = narrowed(in[i]);
}
