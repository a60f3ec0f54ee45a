// Reductions and scans over the lanes of a sub-group of LANES, by every operation of a type. FP64 and FP16 select
// double and half. Result k of work-item i is out[k * n + i], for n work-items. Each operation has three results:
// the reduction, the inclusive scan and the exclusive scan.
#include "suites/kernels/device/portable_cuda.h"

#ifdef __CUDACC__
#define LANES_REQUIRED
#define CHAR signed char  // the char of the host is signed
#else
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#define LANES_REQUIRED __attribute__((intel_reqd_sub_group_size(LANES)))
#define CHAR char
#endif

#define BY(k, operation)                                                     \
  out[3u * k * n + i] = sub_group_non_uniform_reduce_##operation(value);     \
  out[(3u * k + 1u) * n + i] = sub_group_non_uniform_scan_inclusive_##operation(value); \
  out[(3u * k + 2u) * n + i] = sub_group_non_uniform_scan_exclusive_##operation(value);

#define ARITHMETIC BY(0u, add) BY(1u, mul) BY(2u, min) BY(3u, max)
#define LOGIC BY(4u, and) BY(5u, or) BY(6u, xor)

#define SCANS(T, name, operations)                                                \
  KERNEL LANES_REQUIRED scans_##name(GLOBAL const T* in, GLOBAL T* out, uint n) { \
    const uint i = GLOBAL_ID(0);                                                  \
    const T value = in[i];                                                        \
    operations                                                                    \
  }

#ifdef FP64
SCANS(double, f64, ARITHMETIC)
#elif defined FP16
SCANS(half, f16, ARITHMETIC)
#else
SCANS(CHAR, i8, ARITHMETIC LOGIC)
SCANS(uchar, u8, ARITHMETIC LOGIC)
SCANS(short, i16, ARITHMETIC LOGIC)
SCANS(ushort, u16, ARITHMETIC LOGIC)
SCANS(int, i32, ARITHMETIC LOGIC)
SCANS(uint, u32, ARITHMETIC LOGIC)
SCANS(long, i64, ARITHMETIC LOGIC)
SCANS(ulong, u64, ARITHMETIC LOGIC)
SCANS(float, f32, ARITHMETIC)
#endif

// The older functions, which only OpenCL has, for types of 32 or 64 bits.
#ifndef __CUDACC__
#undef BY
#define BY(k, operation)                                                     \
  out[3u * k * n + i] = sub_group_reduce_##operation(value);                 \
  out[(3u * k + 1u) * n + i] = sub_group_scan_inclusive_##operation(value);  \
  out[(3u * k + 2u) * n + i] = sub_group_scan_exclusive_##operation(value);
#define UNIFORM BY(0u, add) BY(1u, min) BY(2u, max)
#ifdef FP64
#define UNIFORM_SCANS(scope) SCANS(double, scope##_f64, UNIFORM)
#elif defined FP16
#define UNIFORM_SCANS(scope) SCANS(half, scope##_f16, UNIFORM)
#else
#define UNIFORM_SCANS(scope)       \
  SCANS(int, scope##_i32, UNIFORM)   \
  SCANS(uint, scope##_u32, UNIFORM)  \
  SCANS(long, scope##_i64, UNIFORM)  \
  SCANS(ulong, scope##_u64, UNIFORM) \
  SCANS(float, scope##_f32, UNIFORM)
#endif
UNIFORM_SCANS(uniform)

// The same functions over all work-items of a group.
#undef BY
#define BY(k, operation)                                                     \
  out[3u * k * n + i] = work_group_reduce_##operation(value);                \
  out[(3u * k + 1u) * n + i] = work_group_scan_inclusive_##operation(value); \
  out[(3u * k + 2u) * n + i] = work_group_scan_exclusive_##operation(value);
UNIFORM_SCANS(work)
#endif
