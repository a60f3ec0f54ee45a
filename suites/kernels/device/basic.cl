// Stores, copies and arithmetic that is exact: what every other check stands on.
#include "suites/kernels/device/portable.h"

KERNEL fill(GLOBAL uint* out, uint value, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = value;
}

KERNEL copy(GLOBAL const uchar* in, GLOBAL uchar* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = in[i];
}

// FMA, so that no compiler's choice between one rounding and two is left.
KERNEL saxpy(GLOBAL const float* x, GLOBAL const float* y, GLOBAL float* out, float a, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = FMA(a, x[i], y[i]);
}

// out[i] = in[i] * 3 + seed, in integers: each word tells which input and which launch made it.
KERNEL transform(GLOBAL const uint* in, GLOBAL uint* out, uint seed, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = in[i] * 3u + seed;
}

// Adds one to every word; a chain of them counts how many ran.
KERNEL increment(GLOBAL uint* words, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) words[i] += 1u;
}

// Every word gets its own address (the address test of memory testers), or that address's complement.
KERNEL write_addresses(GLOBAL ulong* words, ulong invert, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) words[i] = (ulong)(words + i) ^ invert;
}

// How many words do not hold what write_addresses put there; `first` gets the smallest such index.
KERNEL count_bad_addresses(GLOBAL const ulong* words, ulong invert, GLOBAL uint* bad, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n && words[i] != ((ulong)(words + i) ^ invert)) ATOMIC_ADD(bad, 1u);
}

// A device says who it is: the proof that work ran where it was sent.
KERNEL write_ordinal(GLOBAL uint* out, uint ordinal) {
  if (GLOBAL_ID(0) == 0) out[0] = ordinal;
}
