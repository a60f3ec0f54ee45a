// Kernels that hang or access memory out of bounds. Checks launch them only in a separate process.
#include "suites/kernels/device/portable.h"

// Ends when `stop` is written, which never happens. The store prevents the compiler from removing the loop.
KERNEL spin_for_ever(volatile GLOBAL uint* stop) {
  while (*stop == 0u) stop[1] += 1u;
}

KERNEL store_at(ulong address, uint value) { *(GLOBAL uint*)address = value; }

// Reads through an address that is in memory. A null or invalid address faults.
KERNEL chase(GLOBAL const ulong* address, GLOBAL uint* out) { out[0] = *(GLOBAL const uint*)address[0]; }
