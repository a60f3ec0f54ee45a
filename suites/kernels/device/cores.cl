// The same work on every core, in groups of CORE_ITEMS work-items and sub-groups of LANES. A program cannot choose
// a core. The first group that runs on a core claims the row of this core, and the other groups leave. No group
// waits for another.
//
// DOUBLES and FLOAT_ATOMICS each compile a separate module, because some devices refuse such a module.
#include "suites/kernels/device/cores.h"
#include "suites/kernels/device/portable_cuda.h"

#ifdef __CUDACC__

#define LANES_REQUIRED
#define FAST_SIN(x) __sinf(x)
#define FAST_EXP(x) __expf(x)
#define FAST_LOG(x) __logf(x)
#define ADD_IN_GROUP(at, value) atomicAdd(at, value)
#define as_ulong(value) ((ulong)__double_as_longlong(value))

// On CUDA, `threads` is 1.
DEVICE uint core_id(uint threads) {
  uint id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id / threads;
}

#else

#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define LANES_REQUIRED __attribute__((intel_reqd_sub_group_size(LANES)))
#define FAST_SIN(x) native_sin(x)
#define FAST_EXP(x) native_exp(x)
#define FAST_LOG(x) native_log(x)
#define ADD_IN_GROUP(at, value) \
  atomic_fetch_add_explicit((volatile LOCAL atomic_float*)(at), value, memory_order_relaxed, memory_scope_work_group)

uint __attribute__((overloadable)) intel_sub_group_shuffle(uint value, uint lane);
uint __attribute__((overloadable)) intel_sub_group_shuffle_xor(uint value, uint mask);

// Built-ins of SPV_INTEL_hw_thread_queries. `threads` hardware threads with consecutive numbers form a core.
uint __attribute__((overloadable, const)) __spirv_BuiltInGlobalHWThreadIDINTEL(void);
uint __attribute__((overloadable, const)) __spirv_BuiltInSubDeviceIDINTEL(void);
DEVICE uint core_id(uint threads) {
  return __spirv_BuiltInSubDeviceIDINTEL() * CORE_ROWS_OF_TILE +
         __spirv_BuiltInGlobalHWThreadIDINTEL() / threads;
}

#endif

// The parameters of a launch: the number of hardware threads of a core, the wanted core or ANY_CORE or ALL_GROUPS,
// the seed, and the number of repetitions.
#define CORE_PARAMETERS \
  GLOBAL uint *claims, GLOBAL uint *rows, uint threads, uint wanted, uint seed, uint rounds

#define NO_ROW 0xffffffffu

// The row of the calling group. The word after the last claim counts groups whose core has no row.
DEVICE uint claim_row(GLOBAL uint* claims, uint threads, uint wanted) {
  const uint core = core_id(threads);
  if (core >= CORE_ROWS) {
    ATOMIC_ADD(claims + CORE_ROWS, 1u);
    return NO_ROW;
  }
  if (wanted != core && wanted != ANY_CORE && wanted != ALL_GROUPS) return NO_ROW;
  if (ATOMIC_COMPARE_EXCHANGE(claims + core, 0u, 1u) == 0u) return core;
  return wanted == ALL_GROUPS ? CORE_ROWS : NO_ROW;
}

// Declares the row of this group, or leaves the kernel.
#define CLAIM_ROW(row)                                                    \
  LOCAL uint claimed[1];                                                  \
  if (LOCAL_ID(0) == 0u) claimed[0] = claim_row(claims, threads, wanted); \
  GROUP_BARRIER();                                                        \
  if (claimed[0] == NO_ROW) return;                                       \
  GLOBAL uint* const row = rows + claimed[0] * CORE_ITEMS

#ifdef DOUBLES

// Doubles: products, fused multiply-adds, quotients, and denormal products.
KERNEL core_doubles(CORE_PARAMETERS) {
  CLAIM_ROW(row);
  uint state = core_mix(seed + LOCAL_ID(0)), word = 0u;
  double x = 1.0 + (double)state * 0x1p-32;
  for (uint round = 0u; round < rounds; ++round) {
    state = core_mix(state);
    const double y = 1.0 + (double)state * 0x1p-32;
    const double product = x * y, quotient = x / y, small = x * 0x1p-1040;
    x = FMA(product, 0.25, y);
    const ulong bits = as_ulong(x) ^ as_ulong(quotient) ^ as_ulong(small);
    word = (word * 31u + (uint)(bits >> 32)) * 31u + (uint)bits;
  }
  row[LOCAL_ID(0)] = word;
}

#elif defined(FLOAT_ATOMICS)

// Atomic additions in local memory: normal numbers with a denormal sum, and denormal numbers.
KERNEL core_sums(CORE_PARAMETERS) {
  LOCAL float sums[CORE_ITEMS];
  CLAIM_ROW(row);
  const uint item = LOCAL_ID(0);
  uint state = core_mix(seed + item), word = 0u;
  for (uint round = 0u; round < rounds; ++round) {
    state = core_mix(state);
    sums[item] = as_float(CORE_LEAST_NORMAL | (state >> 10));
    ADD_IN_GROUP(sums + item, -as_float(CORE_LEAST_NORMAL));
    ADD_IN_GROUP(sums + item, as_float(1u + (state & 0xfffu)));
    word = word * 31u + as_uint(sums[item]);
  }
  row[item] = word;
}

#else

// Integers of 32 and 64 bits: products, quotients, remainders, shifts.
KERNEL core_integers(CORE_PARAMETERS) {
  CLAIM_ROW(row);
  uint x = core_mix(seed + LOCAL_ID(0)), y = core_mix(x);
  for (uint round = 0u; round < rounds; ++round) {
    const ulong product = (ulong)x * y;
    x = (uint)(product >> 32) ^ (uint)product;
    y = y / ((x >> 16) | 1u) + y % ((x & 0xffffu) | 1u);
    x = core_mix(x + y);
    y = core_mix(y ^ core_rotate(x, x >> 27));
  }
  row[LOCAL_ID(0)] = x ^ y;
}

// Products of two matrices of CORE_EDGE x CORE_EDGE, with fused multiply-adds in a fixed order. Each product is
// scaled down and gets new numbers added.
KERNEL core_products(CORE_PARAMETERS) {
  LOCAL float a[CORE_EDGE * CORE_EDGE], b[CORE_EDGE * CORE_EDGE];
  CLAIM_ROW(row);
  const uint item = LOCAL_ID(0);
  for (uint at = item; at < CORE_EDGE * CORE_EDGE; at += CORE_ITEMS) {
    a[at] = core_number(core_mix(seed + at));
    b[at] = core_number(core_mix(~seed + at));
  }
  for (uint round = 0u; round < rounds; ++round) {
    float sums[CORE_SUMS];
    GROUP_BARRIER();
    for (uint n = 0u; n < CORE_SUMS; ++n) {
      const uint at = n * CORE_ITEMS + item;
      float sum = 0.0f;
      for (uint k = 0u; k < CORE_EDGE; ++k) {
        sum = FMA(a[at / CORE_EDGE * CORE_EDGE + k], b[k * CORE_EDGE + at % CORE_EDGE], sum);
      }
      sums[n] = FMA(sum, 0.25f, core_number(core_mix(seed ^ (round * 977u + at))));
    }
    GROUP_BARRIER();
    for (uint n = 0u; n < CORE_SUMS; ++n) a[n * CORE_ITEMS + item] = sums[n];
  }
  uint word = 0u;
  for (uint n = 0u; n < CORE_SUMS; ++n) word = word * 31u + as_uint(a[n * CORE_ITEMS + item]);
  row[item] = word;
}

// Products, sums and differences of denormal floats. All are exact, so a compiler may fuse them.
KERNEL core_denormals(CORE_PARAMETERS) {
  CLAIM_ROW(row);
  uint state = core_mix(seed + LOCAL_ID(0)), word = 0u;
  for (uint round = 0u; round < rounds; ++round) {
    state = core_mix(state);
    const float product = (float)(1u + (state & 0xfffu)) * 0x1p-100f * 0x1p-40f;
    const float sum = product + as_float(1u + (state >> 20));
    const float difference = as_float(CORE_LEAST_NORMAL | (state >> 10)) - as_float(CORE_LEAST_NORMAL);
    word = word * 31u + as_uint(product);
    word = word * 31u + as_uint(sum);
    word = word * 31u + as_uint(difference);
  }
  row[LOCAL_ID(0)] = word;
}

// Special functions, exact ones and fast ones. No document defines their last bit, but all cores must agree.
KERNEL core_functions(CORE_PARAMETERS) {
  CLAIM_ROW(row);
  uint state = core_mix(seed + LOCAL_ID(0)), word = 0u;
  for (uint round = 0u; round < rounds; ++round) {
    state = core_mix(state);
    const float x = 1.5f + 0.5f * core_number(state);
    const float y = 1.5f + 0.5f * core_number(core_mix(state));
    word = word * 31u + as_uint(sin(x));
    word = word * 31u + as_uint(exp(x));
    word = word * 31u + as_uint(log(y));
    word = word * 31u + as_uint(pow(x, y));
    word = word * 31u + as_uint(tanh(x));
    word = word * 31u + as_uint(sqrt(x) / y);
    word = word * 31u + as_uint(rsqrt(y));
    word = word * 31u + as_uint(FAST_SIN(x));
    word = word * 31u + as_uint(FAST_EXP(x));
    word = word * 31u + as_uint(FAST_LOG(y));
  }
  row[LOCAL_ID(0)] = word;
}

// Shuffles, reductions and votes of lanes. No mask is 0, because a word xor itself is 0.
KERNEL LANES_REQUIRED core_lanes(CORE_PARAMETERS) {
  CLAIM_ROW(row);
  const uint lane = get_sub_group_local_id();
  uint word = core_mix(seed + LOCAL_ID(0));
  for (uint round = 0u; round < rounds; ++round) {
    word += intel_sub_group_shuffle(word, (lane * 5u + round) % LANES);
    word = core_mix(word ^ intel_sub_group_shuffle_xor(word, 1u + round % (LANES - 1u)));
    word += sub_group_reduce_add(word);
    word = core_mix(word ^ sub_group_scan_inclusive_add(word));
    word += sub_group_any((word & 15u) == 0u) ? 1u : 2u;
  }
  row[LOCAL_ID(0)] = word;
}

// Local memory: sums and bits by atomics on few words, and copies between all places of an array.
KERNEL core_local(CORE_PARAMETERS) {
  LOCAL uint sums[CORE_SLOTS], words[CORE_WORDS];
  CLAIM_ROW(row);
  const uint item = LOCAL_ID(0);
  if (item < CORE_SLOTS) sums[item] = 0u;
  for (uint at = item; at < CORE_WORDS; at += CORE_ITEMS) words[at] = core_mix(seed + at);
  for (uint round = 0u; round < rounds; ++round) {
    uint carried[CORE_WORDS / CORE_ITEMS];
    GROUP_BARRIER();
    for (uint n = 0u; n < CORE_WORDS / CORE_ITEMS; ++n) {
      carried[n] = words[(n * CORE_ITEMS + item * 37u + round) % CORE_WORDS];
      ATOMIC_ADD(sums + carried[n] % CORE_SLOTS, carried[n]);
    }
    GROUP_BARRIER();
    for (uint n = 0u; n < CORE_WORDS / CORE_ITEMS; ++n) {
      words[n * CORE_ITEMS + item] = carried[n] + sums[(item + n) % CORE_SLOTS];
    }
  }
  GROUP_BARRIER();
  uint word = sums[item % CORE_SLOTS];
  for (uint at = item; at < CORE_WORDS; at += CORE_ITEMS) word = word * 31u + words[at];
  row[item] = word;
}

#endif
