// Memory order, and communication between groups and with the host.
#include "suites/kernels/device/portable.h"

// Message passing between pairs of groups. The even group writes data and then releases a flag. The odd group
// polls the flag a limited number of times and then reads the data. out[pair] is 2 if the flag did not come in
// time, 1 if it came with the data, and 0 if it came without the data, which is forbidden.
KERNEL message_passing(volatile GLOBAL atomic_word* flags, volatile GLOBAL uint* data, GLOBAL uint* out,
                       uint looks) {
  if (LOCAL_ID(0) != 0) return;
  const uint pair = GROUP_ID(0) / 2u;
  if (GROUP_ID(0) % 2u == 0) {
    data[pair] = 42u;
    store_release(flags + pair, 1u);
    return;
  }
  uint seen = 0, i = 0;
  do {
    seen = load_acquire(flags + pair);
    ++i;
  } while (seen == 0u && i < looks);
  const uint value = data[pair];
  out[pair] = seen == 0u ? 2u : value == 42u ? 1u : 0u;
}

// One work-item loads eight words, one after the other.
KERNEL atomic_loads(volatile GLOBAL atomic_word* words, GLOBAL uint* out) {
  if (GLOBAL_ID(0) != 0) return;
  uint i = 0;
  do {
    out[i] = load_acquire(words + i);
    ++i;
  } while (i < 8u);
}

// Loops in this file test at their end. For other loops, llvm-spirv-15 emits blocks in an order that SPIR-V
// forbids.

// Polls `open` until the host writes it, then writes 1 to `done`. If the limit of `looks` is reached, writes 2, so
// that a lost write is a result and not a hang.
KERNEL gate(GLOBAL uint* open, GLOBAL uint* done, ulong looks) {
  if (GLOBAL_ID(0) != 0) return;
  uint seen = 0;
  ulong i = 0;
  do {
    seen = ATOMIC_LOAD_SYSTEM(open);
    ++i;
  } while (seen == 0u && i < looks);
  ATOMIC_STORE_SYSTEM(done, seen != 0u ? 1u : 2u);
}

// All groups meet `rounds` times, at least once. Each group adds itself, and polls at most `looks` times until all
// have arrived. For cooperative launches. If groups run one after another, the first one stops polling and writes
// the number of arrivals that it saw.
KERNEL grid_barrier(volatile GLOBAL atomic_word* arrived, GLOBAL uint* out, uint rounds, uint looks) {
  const uint groups = GROUPS(0) * GROUPS(1) * GROUPS(2);
  const uint group = GROUP_ID(0) + GROUPS(0) * (GROUP_ID(1) + GROUPS(1) * GROUP_ID(2));
  uint round = 0;
  do {
    ++round;
    if (LOCAL_ID(0) == 0) {
      add_acquire_release(arrived, 1u);
      uint seen, i = 0;
      do {
        seen = load_acquire(arrived);
        ++i;
      } while (seen < round * groups && i < looks);
      out[group] = seen;
    }
    GROUP_BARRIER();
  } while (round < rounds);
}
