// Every atomic operation on one word under contention. The totals are exact in any order.
#include "suites/kernels/device/portable.h"

// words[0..9]: add sub inc dec min max and or xor xchg. The last word receives the id of some work-item.
KERNEL atomic_operations(GLOBAL uint* words) {
  const uint i = GLOBAL_ID(0);
  ATOMIC_ADD(words + 0, i);
  ATOMIC_SUB(words + 1, i);
  ATOMIC_INC(words + 2);
  ATOMIC_DEC(words + 3);
  ATOMIC_MIN(words + 4, i);
  ATOMIC_MAX(words + 5, i);
  ATOMIC_AND(words + 6, ~(1u << (i % 31u)));
  ATOMIC_OR(words + 7, 1u << (i % 31u));
  ATOMIC_XOR(words + 8, i);
  ATOMIC_EXCHANGE(words + 9, i);
}

KERNEL atomic_signed_extremes(GLOBAL int* words) {
  const int i = (int)GLOBAL_ID(0) - 512;
  ATOMIC_MIN(words + 0, i);
  ATOMIC_MAX(words + 1, i);
}

// tickets[i] is the previous value of the counter. If two tickets are equal, an increment was lost.
KERNEL atomic_tickets(GLOBAL uint* counter, GLOBAL uint* tickets) {
  tickets[GLOBAL_ID(0)] = ATOMIC_INC(counter);
}

// n additions by compare-and-exchange.
KERNEL atomic_exchange_add(GLOBAL uint* word) {
  uint seen = *(volatile GLOBAL uint*)word;
  while (true) {
    const uint found = ATOMIC_COMPARE_EXCHANGE(word, seen, seen + 3u);
    if (found == seen) return;
    seen = found;
  }
}

// n additions to the bits of a float. Sums of integers below 2^24 are exact in any order.
KERNEL atomic_float_add(GLOBAL uint* word, float value) {
  uint seen = *(volatile GLOBAL uint*)word;
  while (true) {
    const uint found = ATOMIC_COMPARE_EXCHANGE(word, seen, as_uint(as_float(seen) + value));
    if (found == seen) return;
    seen = found;
  }
}

// Additions in local memory, then one addition per group in global memory.
KERNEL atomic_local_add(GLOBAL uint* total) {
  LOCAL uint count;
  if (LOCAL_ID(0) == 0) count = 0u;
  GROUP_BARRIER();
  ATOMIC_ADD(&count, LOCAL_ID(0) + 1u);
  GROUP_BARRIER();
  if (LOCAL_ID(0) == 0) ATOMIC_ADD(total, count);
}

// A histogram: the work-items use different addresses.
KERNEL atomic_scatter(GLOBAL uint* bins, uint bin_count) {
  ATOMIC_INC(bins + (GLOBAL_ID(0) * 7u) % bin_count);
}
