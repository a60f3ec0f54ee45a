// The common subset of OpenCL C and CUDA C++ that the kernels are written in, so that one source serves both:
// clang makes SPIR-V from it, nvcc makes code for its own devices. A kernel is `KERNEL name(GLOBAL float* p,
// uint n)` and has C linkage, so that it is found by its name.
//
// What has no counterpart (offsets, sub-group operations of OpenCL's extension, printf's vectors) is used
// only in modules that are for Level Zero alone; those do not compile as CUDA on purpose.
#pragma once

#ifdef __CUDACC__

#include <cstdint>

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_POINTER
#define CONSTANT const
#define DEVICE static __device__ inline
#define VOLATILE volatile

#define GLOBAL_ID(axis)                                \
  (axis == 0   ? blockIdx.x * blockDim.x + threadIdx.x \
   : axis == 1 ? blockIdx.y * blockDim.y + threadIdx.y \
               : blockIdx.z * blockDim.z + threadIdx.z)
#define LOCAL_ID(axis) (axis == 0 ? threadIdx.x : axis == 1 ? threadIdx.y : threadIdx.z)
#define GROUP_ID(axis) (axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : blockIdx.z)
#define GROUP_SIZE(axis) (axis == 0 ? blockDim.x : axis == 1 ? blockDim.y : blockDim.z)
#define GROUPS(axis) (axis == 0 ? gridDim.x : axis == 1 ? gridDim.y : gridDim.z)
#define GROUP_BARRIER() __syncthreads()

#define ATOMIC_ADD(pointer, value) atomicAdd(pointer, value)
#define ATOMIC_LOAD_SYSTEM(pointer) (*(volatile uint*)(pointer))
#define ATOMIC_STORE_SYSTEM(pointer, value) (__threadfence_system(), *(volatile uint*)(pointer) = (value))
#define FMA(a, b, c) fma(a, b, c)

#else

#define KERNEL __kernel void
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_POINTER __local
#define CONSTANT __constant
#define DEVICE static inline
#define VOLATILE volatile

// 32 bits, as CUDA's: every launch of the suites is smaller than 2^32 work-items.
#define GLOBAL_ID(axis) ((uint)get_global_id(axis))
#define LOCAL_ID(axis) ((uint)get_local_id(axis))
#define GROUP_ID(axis) ((uint)get_group_id(axis))
#define GROUP_SIZE(axis) ((uint)get_local_size(axis))
#define GROUPS(axis) ((uint)get_num_groups(axis))
#define GROUP_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#define ATOMIC_ADD(pointer, value) atomic_add(pointer, value)
#define ATOMIC_LOAD_SYSTEM(pointer)                                                   \
  atomic_load_explicit((volatile GLOBAL atomic_uint*)(pointer), memory_order_acquire, \
                       memory_scope_all_svm_devices)
#define ATOMIC_STORE_SYSTEM(pointer, value)                                                     \
  atomic_store_explicit((volatile GLOBAL atomic_uint*)(pointer), (value), memory_order_release, \
                        memory_scope_all_svm_devices)
#define FMA(a, b, c) fma(a, b, c)

#endif
