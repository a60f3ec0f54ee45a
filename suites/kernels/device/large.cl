// Accesses that need more than 32 bits of an index.
#include "suites/kernels/device/portable.h"

// One word each `stride` words: its own number, and a mark.
KERNEL write_apart(GLOBAL uint* words, ulong stride, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) words[i * stride] = 0xabc00000u + i;
}

KERNEL read_apart(GLOBAL const uint* words, ulong stride, GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = words[i * stride];
}
