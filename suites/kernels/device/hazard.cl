// Kernels that do wrong on purpose. Only ever launched in a process of their own.
#include "suites/kernels/device/portable.h"

// Ends when `stop` is written, which nobody does. The store keeps a compiler from proving that it does
// nothing.
KERNEL spin_for_ever(volatile GLOBAL uint* stop) {
  while (*stop == 0u) stop[1] += 1u;
}

KERNEL store_at(ulong address, uint value) { *(GLOBAL uint*)address = value; }

// Reads through an address that lies in memory: a null or wild one faults.
KERNEL chase(GLOBAL const ulong* address, GLOBAL uint* out) { out[0] = *(GLOBAL const uint*)address[0]; }
