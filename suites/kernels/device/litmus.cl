// Memory ordering and communication between groups and with the host.
#include "suites/kernels/device/portable.h"

// Message passing (two groups at a time, in pairs): the even group writes data and then releases a flag, the
// odd one waits a bounded number of looks for the flag and then reads the data. out[pair] = 2 when the flag
// did not come in time, 1 when it came with the data, 0 when it came without: the forbidden result.
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

// One item loads eight words, one after the other.
KERNEL atomic_loads(volatile GLOBAL atomic_word* words, GLOBAL uint* out) {
  if (GLOBAL_ID(0) != 0) return;
  uint i = 0;
  do {
    out[i] = load_acquire(words + i);
    ++i;
  } while (i < 8u);
}

// Loops here test at their end: of others llvm-spirv-15 makes blocks in an order that SPIR-V forbids.

// Waits until the host writes `open` (bounded, so that a lost write is an answer and no hang), then writes 1
// to `done`, and how often it had to look.
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

// All groups meet `rounds` times, at least once: each adds itself and looks, at most `looks` times, until all
// have. For cooperative launches; where groups run one after another, the first one gives up and tells how
// many it saw.
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
