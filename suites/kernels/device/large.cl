// Accesses whose index needs more than 32 bits.
#include "suites/kernels/device/portable.h"

// Writes to each `stride`-th word its number and a mark.
KERNEL write_apart(GLOBAL uint* words, ulong stride, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) words[i * stride] = 0xabc00000u + i;
}

KERNEL read_apart(GLOBAL const uint* words, ulong stride, GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = words[i * stride];
}
