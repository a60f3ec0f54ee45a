// Stores, copies and exact arithmetic. All other checks rely on these kernels.
#include "suites/kernels/device/portable.h"

KERNEL fill(GLOBAL uint* out, uint value, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = value;
}

KERNEL copy(GLOBAL const uchar* in, GLOBAL uchar* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = in[i];
}

// FMA, so that the compiler cannot choose between one rounding and two.
KERNEL saxpy(GLOBAL const float* x, GLOBAL const float* y, GLOBAL float* out, float a, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = FMA(a, x[i], y[i]);
}

// out[i] = in[i] * 3 + seed, in integers. Each word identifies its input and its launch.
KERNEL transform(GLOBAL const uint* in, GLOBAL uint* out, uint seed, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = in[i] * 3u + seed;
}

// Adds one to every word. A chain of launches counts how many of them ran.
KERNEL increment(GLOBAL uint* words, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) words[i] += 1u;
}

// Writes to every word its own address (the address test of memory testers), or the complement of that address.
KERNEL write_addresses(GLOBAL ulong* words, ulong invert, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) words[i] = (ulong)(words + i) ^ invert;
}

// The number of words that differ from those of write_addresses.
KERNEL count_bad_addresses(GLOBAL const ulong* words, ulong invert, GLOBAL uint* bad, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n && words[i] != ((ulong)(words + i) ^ invert)) ATOMIC_ADD(bad, 1u);
}

// Writes the ordinal that the host passes. It proves on which device the kernel ran.
KERNEL write_ordinal(GLOBAL uint* out, uint ordinal) {
  if (GLOBAL_ID(0) == 0) out[0] = ordinal;
}
