// Functions of OpenCL C, for kernels that are compiled as CUDA. Kernels that need them include this file. It
// is empty for OpenCL, which has these functions.
#pragma once

#include "suites/kernels/device/portable.h"

#ifdef __CUDACC__

#include <cuda_fp16.h>

// ---- integers ----

DEVICE uint mul_hi(uint a, uint b) { return __umulhi(a, b); }
DEVICE int mul_hi(int a, int b) { return __mulhi(a, b); }
DEVICE ulong mul_hi(ulong a, ulong b) { return __umul64hi(a, b); }
DEVICE uint popcount(uint a) { return (uint)__popc(a); }
DEVICE ulong popcount(ulong a) { return (ulong)__popcll(a); }
DEVICE uint clz(uint a) { return (uint)__clz((int)a); }
DEVICE uint rotate(uint a, uint by) { return __funnelshift_l(a, a, by); }
DEVICE int saturated(long long wide) {
  return wide < -2147483648ll ? -2147483647 - 1 : wide > 2147483647ll ? 2147483647 : (int)wide;
}
DEVICE int add_sat(int a, int b) { return saturated((long long)a + b); }
DEVICE int sub_sat(int a, int b) { return saturated((long long)a - b); }

// ---- conversions; those of CUDA saturate ----

DEVICE int convert_int_sat_rtz(float x) { return __float2int_rz(x); }
DEVICE int convert_int_sat_rte(float x) { return __float2int_rn(x); }
DEVICE int convert_int_sat_rtp(float x) { return __float2int_ru(x); }
DEVICE int convert_int_sat_rtn(float x) { return __float2int_rd(x); }
DEVICE int convert_char_sat(float x) { return max(-128, min(127, __float2int_rz(x))); }
DEVICE int convert_uchar_sat(float x) { return max(0, min(255, __float2int_rz(x))); }
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
DEVICE uint intel_sub_group_shuffle(uint value, uint lane) {
  return __shfl_sync(ALL_LANES, value, (int)lane);
}
DEVICE uint intel_sub_group_shuffle_xor(uint value, uint mask) {
  return __shfl_xor_sync(ALL_LANES, value, (int)mask);
}

#endif
