// Every atomic operation on one word under contention; the totals are exact whatever the order. Level Zero
// only: CUDA names and signatures differ in every one.
#include "suites/kernels/device/portable.h"

// words[0..9]: add sub inc dec min max and or xor xchg. The last keeps some work-item's id.
KERNEL atomic_operations(GLOBAL uint* words) {
  const uint i = GLOBAL_ID(0);
  atomic_add(words + 0, i);
  atomic_sub(words + 1, i);
  atomic_inc(words + 2);
  atomic_dec(words + 3);
  atomic_min(words + 4, i);
  atomic_max(words + 5, i);
  atomic_and(words + 6, ~(1u << (i % 31u)));
  atomic_or(words + 7, 1u << (i % 31u));
  atomic_xor(words + 8, i);
  atomic_xchg(words + 9, i);
}

KERNEL atomic_signed_extremes(GLOBAL int* words) {
  const int i = (int)GLOBAL_ID(0) - 512;
  atomic_min(words + 0, i);
  atomic_max(words + 1, i);
}

// tickets[i] = what the counter was: all different, or an increment was lost.
KERNEL atomic_tickets(GLOBAL uint* counter, GLOBAL uint* tickets) {
  tickets[GLOBAL_ID(0)] = atomic_inc(counter);
}

// n additions by compare-and-exchange.
KERNEL atomic_exchange_add(GLOBAL uint* word) {
  uint seen = *(volatile GLOBAL uint*)word;
  while (true) {
    const uint found = atomic_cmpxchg(word, seen, seen + 3u);
    if (found == seen) return;
    seen = found;
  }
}

// The same on a float's bits: sums of integers below 2^24 are exact in any order.
KERNEL atomic_float_add(GLOBAL uint* word, float value) {
  uint seen = *(volatile GLOBAL uint*)word;
  while (true) {
    const uint found = atomic_cmpxchg(word, seen, as_uint(as_float(seen) + value));
    if (found == seen) return;
    seen = found;
  }
}

// Contention inside a group, on local memory; then one addition a group.
KERNEL atomic_local_add(GLOBAL uint* total) {
  LOCAL uint count;
  if (LOCAL_ID(0) == 0) count = 0u;
  GROUP_BARRIER();
  atomic_add(&count, LOCAL_ID(0) + 1u);
  GROUP_BARRIER();
  if (LOCAL_ID(0) == 0) atomic_add(total, count);
}

// A histogram: distinct addresses.
KERNEL atomic_scatter(GLOBAL uint* bins, uint bin_count) {
  atomic_inc(bins + (GLOBAL_ID(0) * 7u) % bin_count);
}
