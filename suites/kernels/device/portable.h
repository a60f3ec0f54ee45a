// The common subset of OpenCL C and CUDA C++ in which the kernels are written, so that one source serves both.
// clang compiles it to SPIR-V, nvcc to code for its devices. A kernel is `KERNEL name(GLOBAL float* p, uint n)`
// and has C linkage, so that it is found by its name.
//
// Features without a counterpart in CUDA (offsets, sub-group operations of OpenCL's extension, printf's vectors)
// are used only in modules for Level Zero. Those modules intentionally do not compile as CUDA.
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
#define GLOBAL_VARIABLE __device__

// Local memory whose size is set by the launch: an additional argument in OpenCL, none in CUDA. The first macro is
// part of the parameter list, the second is at the start of the body.
#define LOCAL_PARAMETER(type, name)
#define LOCAL_ARGUMENT(type, name) extern __shared__ type name[]

#define GLOBAL_ID(axis)                                \
  (axis == 0   ? blockIdx.x * blockDim.x + threadIdx.x \
   : axis == 1 ? blockIdx.y * blockDim.y + threadIdx.y \
               : blockIdx.z * blockDim.z + threadIdx.z)
#define LOCAL_ID(axis) (axis == 0 ? threadIdx.x : axis == 1 ? threadIdx.y : threadIdx.z)
#define GROUP_ID(axis) (axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : blockIdx.z)
#define GROUP_SIZE(axis) (axis == 0 ? blockDim.x : axis == 1 ? blockDim.y : blockDim.z)
#define GROUPS(axis) (axis == 0 ? gridDim.x : axis == 1 ? gridDim.y : gridDim.z)
#define GLOBAL_SIZE(axis) (GROUPS(axis) * GROUP_SIZE(axis))
#define GLOBAL_OFFSET(axis) 0u  // CUDA has none
#define GROUP_BARRIER() __syncthreads()

// Atomic operations on words, relaxed, between all work-items of the device.
#define ATOMIC_ADD(pointer, value) atomicAdd(pointer, value)
#define ATOMIC_SUB(pointer, value) atomicSub(pointer, value)
#define ATOMIC_INC(pointer) atomicAdd(pointer, 1u)
#define ATOMIC_DEC(pointer) atomicSub(pointer, 1u)
#define ATOMIC_MIN(pointer, value) atomicMin(pointer, value)
#define ATOMIC_MAX(pointer, value) atomicMax(pointer, value)
#define ATOMIC_AND(pointer, value) atomicAnd(pointer, value)
#define ATOMIC_OR(pointer, value) atomicOr(pointer, value)
#define ATOMIC_XOR(pointer, value) atomicXor(pointer, value)
#define ATOMIC_EXCHANGE(pointer, value) atomicExch(pointer, value)
#define ATOMIC_COMPARE_EXCHANGE(pointer, seen, value) atomicCAS(pointer, seen, value)
#define ATOMIC_ADD_SYSTEM(pointer, value) atomicAdd_system((uint*)(pointer), value)

// Operations with memory order, for messages between groups.
using atomic_word = uint;
DEVICE uint load_acquire(const volatile uint* pointer) {
  const uint value = *pointer;
  __threadfence();
  return value;
}
DEVICE void store_release(volatile uint* pointer, uint value) {
  __threadfence();
  *pointer = value;
}
DEVICE void add_acquire_release(volatile uint* pointer, uint value) {
  __threadfence();
  atomicAdd((uint*)pointer, value);
  __threadfence();
}
#define ATOMIC_LOAD_SYSTEM(pointer) (*(volatile uint*)(pointer))
#define ATOMIC_STORE_SYSTEM(pointer, value) (__threadfence_system(), *(volatile uint*)(pointer) = (value))

#define FMA(a, b, c) fma(a, b, c)
#define as_uint(value) __float_as_uint(value)
#define as_float(bits) __uint_as_float(bits)

#else

#define KERNEL __kernel void
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_POINTER __local
#define CONSTANT __constant
#define DEVICE static inline
#define VOLATILE volatile
#define GLOBAL_VARIABLE __global
#define LOCAL_PARAMETER(type, name) , __local type* name
#define LOCAL_ARGUMENT(type, name)

// The ids have 32 bits, as in CUDA. Every launch of the suites is smaller than 2^32 work-items.
#define GLOBAL_ID(axis) ((uint)get_global_id(axis))
#define LOCAL_ID(axis) ((uint)get_local_id(axis))
#define GROUP_ID(axis) ((uint)get_group_id(axis))
#define GROUP_SIZE(axis) ((uint)get_local_size(axis))
#define GROUPS(axis) ((uint)get_num_groups(axis))
#define GLOBAL_SIZE(axis) ((uint)get_global_size(axis))
#define GLOBAL_OFFSET(axis) ((uint)get_global_offset(axis))
#define GROUP_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#define ATOMIC_ADD(pointer, value) atomic_add(pointer, value)
#define ATOMIC_SUB(pointer, value) atomic_sub(pointer, value)
#define ATOMIC_INC(pointer) atomic_inc(pointer)
#define ATOMIC_DEC(pointer) atomic_dec(pointer)
#define ATOMIC_MIN(pointer, value) atomic_min(pointer, value)
#define ATOMIC_MAX(pointer, value) atomic_max(pointer, value)
#define ATOMIC_AND(pointer, value) atomic_and(pointer, value)
#define ATOMIC_OR(pointer, value) atomic_or(pointer, value)
#define ATOMIC_XOR(pointer, value) atomic_xor(pointer, value)
#define ATOMIC_EXCHANGE(pointer, value) atomic_xchg(pointer, value)
#define ATOMIC_COMPARE_EXCHANGE(pointer, seen, value) atomic_cmpxchg(pointer, seen, value)
#define ATOMIC_ADD_SYSTEM(pointer, value) \
  atomic_fetch_add_explicit(pointer, value, memory_order_relaxed, memory_scope_all_svm_devices)

#define atomic_word atomic_uint
#define load_acquire(pointer) atomic_load_explicit(pointer, memory_order_acquire, memory_scope_device)
#define store_release(pointer, value) \
  atomic_store_explicit(pointer, value, memory_order_release, memory_scope_device)
#define add_acquire_release(pointer, value) \
  atomic_fetch_add_explicit(pointer, value, memory_order_acq_rel, memory_scope_device)
#define ATOMIC_LOAD_SYSTEM(pointer)                                                   \
  atomic_load_explicit((volatile GLOBAL atomic_uint*)(pointer), memory_order_acquire, \
                       memory_scope_all_svm_devices)
#define ATOMIC_STORE_SYSTEM(pointer, value)                                                     \
  atomic_store_explicit((volatile GLOBAL atomic_uint*)(pointer), (value), memory_order_release, \
                        memory_scope_all_svm_devices)
#define FMA(a, b, c) fma(a, b, c)

#endif
