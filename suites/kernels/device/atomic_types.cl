// Every atomic operation on 32-bit integers, or with WIDE on 64-bit integers. FLOAT and DOUBLE select additions of
// these types instead.
#include "suites/kernels/device/portable_cuda.h"

#ifndef __CUDACC__
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#ifdef DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#endif

#define MOST_IN_GROUP 64

// Operations of each work-item on separate words. Operation k uses words[k * n + i] and returns the previous
// value.
#define OPERATIONS                                               \
  BY(0u, atom_add(AT, value))                                    \
  BY(1u, atom_sub(AT, value))                                    \
  BY(2u, atom_inc(AT))                                           \
  BY(3u, atom_dec(AT))                                           \
  BY(4u, atom_min(AT, value))                                    \
  BY(5u, atom_max(AT, value))                                    \
  BY(6u, atom_and(AT, value))                                    \
  BY(7u, atom_or(AT, value))                                     \
  BY(8u, atom_xor(AT, value))                                    \
  BY(9u, atom_xchg(AT, value))                                   \
  BY(10u, atom_cmpxchg(AT, expected[i], value))

#define IN_GLOBAL_MEMORY(T, name)                                                                           \
  KERNEL global_##name(GLOBAL T* words, GLOBAL const T* values, GLOBAL const T* expected, GLOBAL T* found,  \
                       uint n) {                                                                            \
    const uint i = GLOBAL_ID(0);                                                                            \
    if (i >= n) return;                                                                                     \
    const T value = values[i];                                                                              \
    OPERATIONS                                                                                              \
  }
#define IN_LOCAL_MEMORY(T, name)                                                                            \
  KERNEL local_##name(GLOBAL T* words, GLOBAL const T* values, GLOBAL const T* expected, GLOBAL T* found,   \
                      uint n) {                                                                             \
    LOCAL T scratch[MOST_IN_GROUP];                                                                         \
    const uint i = GLOBAL_ID(0);                                                                            \
    if (i >= n) return;                                                                                     \
    const T value = values[i];                                                                              \
    OPERATIONS                                                                                              \
  }

// Operations of all work-items on the same words: add, sub, min, max, and, or, xor, and an addition by
// compare-and-exchange.
#define CONTENDED(T, name)                                                                                  \
  KERNEL contended_##name(GLOBAL T* words, GLOBAL const T* values) {                                        \
    const uint i = GLOBAL_ID(0);                                                                            \
    const T value = values[i];                                                                              \
    const T bit = (T)((T)1 << (i % (8u * sizeof(T))));                                                      \
    atom_add(words, value);                                                                                 \
    atom_sub(words + 1, value);                                                                             \
    atom_min(words + 2, value);                                                                             \
    atom_max(words + 3, value);                                                                             \
    atom_and(words + 4, (T)~bit);                                                                           \
    atom_or(words + 5, bit);                                                                                \
    atom_xor(words + 6, value);                                                                             \
    T seen = *(volatile GLOBAL T*)(words + 7);                                                              \
    while (true) {                                                                                          \
      const T was = atom_cmpxchg(words + 7, seen, (T)(seen + value));                                       \
      if (was == seen) break;                                                                               \
      seen = was;                                                                                           \
    }                                                                                                       \
  }

#if defined(FLOAT) || defined(DOUBLE)

#ifdef DOUBLE
typedef double number;
#define ATOMIC_NUMBER atomic_double
#else
typedef float number;
#define ATOMIC_NUMBER atomic_float
#endif
#ifdef __CUDACC__
#define ADD_NUMBER(at, value) atomicAdd(at, value)
#define ADD_IN_GROUP(at, value) atomicAdd(at, value)
#else
#define ADD_IN_GROUP(at, value) \
  atomic_fetch_add_explicit((volatile LOCAL ATOMIC_NUMBER*)(at), value, memory_order_relaxed, memory_scope_work_group)
#define ADD_NUMBER(at, value) \
  atomic_fetch_add_explicit((volatile GLOBAL ATOMIC_NUMBER*)(at), value, memory_order_relaxed, memory_scope_device)
#endif

KERNEL add_numbers(GLOBAL number* words, GLOBAL const number* values, GLOBAL number* found, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) found[i] = ADD_NUMBER(words + i, values[i]);
}
KERNEL contended_add(GLOBAL number* word, number value) { ADD_NUMBER(word, value); }

#ifdef IN_GROUP
// Like add_numbers, in local memory.
KERNEL add_in_group(GLOBAL number* words, GLOBAL const number* values, GLOBAL number* found, uint n) {
  LOCAL number sums[MOST_IN_GROUP];
  const uint i = GLOBAL_ID(0);
  if (i >= n) return;
  sums[LOCAL_ID(0)] = words[i];
  found[i] = ADD_IN_GROUP(sums + LOCAL_ID(0), values[i]);
  words[i] = sums[LOCAL_ID(0)];
}
#endif

#else

#ifdef WIDE
#define TWICE(X) X(long, i64) X(ulong, u64)
#else
#define TWICE(X) X(int, i32) X(uint, u32)
#endif
#define AT (words + k * n + i)
#define BY(number, operation)      \
  {                                \
    const uint k = number;         \
    found[k * n + i] = operation;  \
  }
TWICE(IN_GLOBAL_MEMORY)
#undef AT
#undef BY

#define AT (scratch + LOCAL_ID(0))
#define BY(k, operation)                   \
  scratch[LOCAL_ID(0)] = words[k * n + i]; \
  found[k * n + i] = operation;            \
  words[k * n + i] = scratch[LOCAL_ID(0)];
TWICE(IN_LOCAL_MEMORY)
TWICE(CONTENDED)

#endif
