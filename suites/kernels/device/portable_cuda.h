// Functions of OpenCL C, for kernels that are compiled as CUDA. Kernels that need them include this file. The file
// is empty for OpenCL, which has these functions.
#pragma once

#include "suites/kernels/device/portable.h"

#ifdef __CUDACC__

#include <cuda_fp16.h>

#include <type_traits>

// ---- integers ----

// Wide enough for the product of any two integers.
__extension__ using wide = __int128;
__extension__ using unsigned_wide = unsigned __int128;
template <typename T>
constexpr bool kSigned = T(-1) < T(0);
template <typename T>
using Wide = std::conditional_t<kSigned<T>, wide, unsigned_wide>;
template <typename T>
constexpr int kBits = 8 * sizeof(T);
template <typename T>
constexpr T kLargest = T((unsigned_wide{1} << (kBits<T> - (kSigned<T> ? 1 : 0))) - 1);

template <typename T>
DEVICE T saturated(wide value) {
  const wide largest = kLargest<T>, smallest = kSigned<T> ? -largest - 1 : 0;
  return T(value < smallest ? smallest : value > largest ? largest : value);
}
template <typename T>
DEVICE T mul_hi(T a, T b) {
  return T(Wide<T>(a) * Wide<T>(b) >> kBits<T>);
}
template <typename T>
DEVICE T add_sat(T a, T b) {
  return saturated<T>(wide(a) + b);
}
template <typename T>
DEVICE T sub_sat(T a, T b) {
  return saturated<T>(wide(a) - b);
}
template <typename T>
DEVICE T abs_diff(T a, T b) {
  return T(a < b ? wide(b) - a : wide(a) - b);
}
template <typename T>
DEVICE T hadd(T a, T b) {
  return T((wide(a) + b) >> 1);
}
template <typename T>
DEVICE T rhadd(T a, T b) {
  return T((wide(a) + b + 1) >> 1);
}
template <typename T>
DEVICE T rotate(T a, T by) {
  return by == 0 ? a : T(a << by | a >> (kBits<T> - by));
}
template <typename T>
DEVICE T popcount(T a) {
  return T(__popcll(a));
}
template <typename T>
DEVICE T clz(T a) {
  return T(__clzll((long long)(unsigned long long)a) - (64 - kBits<T>));
}

// ---- conversions; those of CUDA saturate ----

DEVICE int convert_int_sat_rtz(float x) { return __float2int_rz(x); }
DEVICE int convert_int_sat_rte(float x) { return __float2int_rn(x); }
DEVICE int convert_int_sat_rtp(float x) { return __float2int_ru(x); }
DEVICE int convert_int_sat_rtn(float x) { return __float2int_rd(x); }
DEVICE int convert_char_sat(float x) { return max(-128, min(127, __float2int_rz(x))); }
DEVICE int convert_uchar_sat(float x) { return max(0, min(255, __float2int_rz(x))); }
// Converts through 64 bits. A value that saturates a narrower type also exceeds its range there.
template <typename T, typename F>
DEVICE T saturated_from_float(F x) {
  if constexpr (sizeof(T) == 8 && !kSigned<T>) {
    return (T)__double2ull_rz((double)x);
  } else {
    return saturated<T>(__double2ll_rz((double)x));
  }
}
DEVICE float convert_float_rte(int x) { return __int2float_rn(x); }
DEVICE float convert_float_rte(uint x) { return __uint2float_rn(x); }
DEVICE void vstore_half_rte(float x, uint i, half* out) { out[i] = __float2half_rn(x); }
DEVICE float vload_half(uint i, const half* in) { return __half2float(in[i]); }

// ---- halves; computed as float if CUDA has no function ----

#define BY_FLOAT(name) \
  DEVICE half name(half a) { return __float2half_rn(name(__half2float(a))); }
#define BY_FLOATS(name) \
  DEVICE half name(half a, half b) { return __float2half_rn(name(__half2float(a), __half2float(b))); }

BY_FLOAT(tan)
BY_FLOAT(tanh)
BY_FLOAT(erf)
BY_FLOAT(cbrt)
BY_FLOAT(fabs)
BY_FLOATS(pow)
BY_FLOATS(atan2)
BY_FLOATS(hypot)
BY_FLOATS(fmin)
BY_FLOATS(fmax)
BY_FLOATS(fmod)
BY_FLOATS(copysign)
DEVICE half fma(half a, half b, half c) { return __hfma(a, b, c); }
DEVICE half sqrt(half a) { return hsqrt(a); }
DEVICE half rsqrt(half a) { return hrsqrt(a); }
DEVICE half exp(half a) { return hexp(a); }
DEVICE half exp2(half a) { return hexp2(a); }
DEVICE half log(half a) { return hlog(a); }
DEVICE half log2(half a) { return hlog2(a); }
DEVICE half sin(half a) { return hsin(a); }
DEVICE half cos(half a) { return hcos(a); }
DEVICE half floor(half a) { return hfloor(a); }
DEVICE half ceil(half a) { return hceil(a); }
DEVICE half trunc(half a) { return htrunc(a); }
DEVICE half rint(half a) { return hrint(a); }

#undef BY_FLOAT
#undef BY_FLOATS

// ---- atomic operations: of 64 bits by other names for the types ----

template <typename T>
using AtomicWord = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
template <typename T>
using AtomicNumber =
    std::conditional_t<sizeof(T) == 4, T, std::conditional_t<kSigned<T>, long long, unsigned long long>>;

#define ATOMIC_AS(As, operation, function)        \
  template <typename T>                           \
  DEVICE T operation(T* at, T value) {            \
    return (T)function((As<T>*)at, (As<T>)value); \
  }
ATOMIC_AS(AtomicWord, atom_add, atomicAdd)
ATOMIC_AS(AtomicNumber, atom_min, atomicMin)
ATOMIC_AS(AtomicNumber, atom_max, atomicMax)
ATOMIC_AS(AtomicWord, atom_and, atomicAnd)
ATOMIC_AS(AtomicWord, atom_or, atomicOr)
ATOMIC_AS(AtomicWord, atom_xor, atomicXor)
ATOMIC_AS(AtomicWord, atom_xchg, atomicExch)
#undef ATOMIC_AS
template <typename T>
DEVICE T atom_sub(T* at, T value) {
  if constexpr (sizeof(T) == 4) {
    return atomicSub(at, value);
  } else {
    return atom_add(at, (T)-value);
  }
}
template <typename T>
DEVICE T atom_inc(T* at) {
  return atom_add(at, (T)1);
}
template <typename T>
DEVICE T atom_dec(T* at) {
  return atom_sub(at, (T)1);
}
template <typename T>
DEVICE T atom_cmpxchg(T* at, T expected, T value) {
  return (T)atomicCAS((AtomicWord<T>*)at, (AtomicWord<T>)expected, (AtomicWord<T>)value);
}

// ---- sub-groups: warps, all of whose lanes take part ----

#define ALL_LANES 0xffffffffu
#define WARP 32u

DEVICE uint linear_local_id() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
DEVICE uint get_sub_group_local_id() { return linear_local_id() % WARP; }
DEVICE uint get_sub_group_id() { return linear_local_id() / WARP; }
DEVICE uint get_sub_group_size() { return WARP; }
DEVICE uint sub_group_scan_inclusive_add(uint value) {
  for (uint distance = 1u; distance < WARP; distance *= 2u) {
    const uint lower = __shfl_up_sync(ALL_LANES, value, distance);
    if (get_sub_group_local_id() >= distance) value += lower;
  }
  return value;
}
DEVICE uint sub_group_scan_exclusive_add(uint value) { return sub_group_scan_inclusive_add(value) - value; }
DEVICE uint sub_group_reduce_add(uint value) {
  for (uint distance = WARP / 2u; distance > 0u; distance /= 2u) {
    value += __shfl_xor_sync(ALL_LANES, value, (int)distance);
  }
  return value;
}
DEVICE uint sub_group_reduce_max(uint value) {
  for (uint distance = WARP / 2u; distance > 0u; distance /= 2u) {
    value = max(value, __shfl_xor_sync(ALL_LANES, value, (int)distance));
  }
  return value;
}
DEVICE uint sub_group_broadcast(uint value, uint lane) { return __shfl_sync(ALL_LANES, value, (int)lane); }
DEVICE int sub_group_any(int yes) { return __any_sync(ALL_LANES, yes); }
DEVICE int sub_group_all(int yes) { return __all_sync(ALL_LANES, yes); }

// __shfl_sync() does not support narrow types.
template <typename T>
using Shuffled = std::conditional_t<(sizeof(T) < 4), uint, T>;
template <typename T>
DEVICE T intel_sub_group_shuffle(T value, uint lane) {
  return (T)__shfl_sync(ALL_LANES, (Shuffled<T>)value, (int)lane);
}
template <typename T>
DEVICE T intel_sub_group_shuffle_xor(T value, uint mask) {
  return (T)__shfl_xor_sync(ALL_LANES, (Shuffled<T>)value, (int)mask);
}
template <typename T>
DEVICE T intel_sub_group_shuffle_up(T previous, T current, uint delta) {
  const T inside = (T)__shfl_up_sync(ALL_LANES, (Shuffled<T>)current, delta);
  const T outside = intel_sub_group_shuffle(previous, (get_sub_group_local_id() - delta) % WARP);
  return get_sub_group_local_id() >= delta ? inside : outside;
}
template <typename T>
DEVICE T intel_sub_group_shuffle_down(T current, T next, uint delta) {
  const T inside = (T)__shfl_down_sync(ALL_LANES, (Shuffled<T>)current, delta);
  const T outside = intel_sub_group_shuffle(next, (get_sub_group_local_id() + delta) % WARP);
  return get_sub_group_local_id() + delta < WARP ? inside : outside;
}

DEVICE uint4 sub_group_ballot(int yes) { return make_uint4(__ballot_sync(ALL_LANES, yes), 0u, 0u, 0u); }
DEVICE uint sub_group_ballot_bit_count(uint4 votes) { return (uint)__popc(votes.x); }
DEVICE uint sub_group_ballot_exclusive_scan(uint4 votes) {
  return (uint)__popc(votes.x & ((1u << get_sub_group_local_id()) - 1u));
}
DEVICE int sub_group_inverse_ballot(uint4 votes) { return (int)(votes.x >> get_sub_group_local_id() & 1u); }
DEVICE uint sub_group_ballot_inclusive_scan(uint4 votes) {
  return sub_group_ballot_exclusive_scan(votes) + (uint)sub_group_inverse_ballot(votes);
}
DEVICE uint sub_group_ballot_find_lsb(uint4 votes) { return (uint)__ffs((int)votes.x) - 1u; }
DEVICE uint sub_group_ballot_find_msb(uint4 votes) { return 31u - (uint)__clz((int)votes.x); }

// Reductions and scans, in steps that double the distance.
#define SCAN_BY(operation, identity, expression)                           \
  template <typename T>                                                    \
  DEVICE T sub_group_non_uniform_scan_inclusive_##operation(T b) {         \
    for (uint distance = 1u; distance < WARP; distance *= 2u) {            \
      const T a = intel_sub_group_shuffle_up(b, b, distance);              \
      if (get_sub_group_local_id() >= distance) b = (T)(expression);       \
    }                                                                      \
    return b;                                                              \
  }                                                                        \
  template <typename T>                                                    \
  DEVICE T sub_group_non_uniform_scan_exclusive_##operation(T value) {     \
    const T all = sub_group_non_uniform_scan_inclusive_##operation(value); \
    return intel_sub_group_shuffle_up((T)(identity), all, 1u);             \
  }                                                                        \
  template <typename T>                                                    \
  DEVICE T sub_group_non_uniform_reduce_##operation(T b) {                 \
    for (uint distance = WARP / 2u; distance > 0u; distance /= 2u) {       \
      const T a = intel_sub_group_shuffle_xor(b, distance);                \
      b = (T)(expression);                                                 \
    }                                                                      \
    return b;                                                              \
  }
template <typename T>
DEVICE T least() {
  if constexpr (std::is_floating_point_v<T>) {
    return (T)__int_as_float((int)0xff800000u);
  } else {
    return kSigned<T> ? T(-kLargest<T> - 1) : T(0);
  }
}
template <typename T>
DEVICE T greatest() {
  if constexpr (std::is_floating_point_v<T>) {
    return -least<T>();
  } else {
    return kLargest<T>;
  }
}
SCAN_BY(add, 0, a + b)
SCAN_BY(mul, 1, a* b)
SCAN_BY(min, greatest<T>(), a < b ? a : b)
SCAN_BY(max, least<T>(), a > b ? a : b)
SCAN_BY(and, ~T(0), a& b)
SCAN_BY(or, 0, a | b)
SCAN_BY(xor, 0, a ^ b)
#undef SCAN_BY

#endif
