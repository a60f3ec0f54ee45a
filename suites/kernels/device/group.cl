// Communication in a group: local memory, barriers, reductions.
#include "suites/kernels/device/portable.h"

// Each group sums 256 words in local memory, by halves.
KERNEL reduce(GLOBAL const uint* in, GLOBAL uint* sums, uint n) {
  LOCAL uint scratch[256];
  const uint local_id = LOCAL_ID(0);
  scratch[local_id] = GLOBAL_ID(0) < n ? in[GLOBAL_ID(0)] : 0u;
  for (uint half_size = 128; half_size > 0; half_size /= 2) {
    GROUP_BARRIER();
    if (local_id < half_size) scratch[local_id] += scratch[local_id + half_size];
  }
  if (local_id == 0) sums[GROUP_ID(0)] = scratch[0];
}

// Each work-item reads the word that its mirror image in the group wrote. Without the barrier, every pair is
// wrong.
KERNEL mirror(GLOBAL const uint* in, GLOBAL uint* out) {
  LOCAL uint scratch[256];
  scratch[LOCAL_ID(0)] = in[GLOBAL_ID(0)];
  GROUP_BARRIER();
  out[GLOBAL_ID(0)] = scratch[GROUP_SIZE(0) - 1u - LOCAL_ID(0)];
}

// Two arrays in local memory must not overlap.
KERNEL two_locals(GLOBAL uint* out) {
  LOCAL uint first[64];
  LOCAL uint second[64];
  first[LOCAL_ID(0)] = LOCAL_ID(0);
  second[LOCAL_ID(0)] = LOCAL_ID(0) + 1000u;
  GROUP_BARRIER();
  out[2u * GLOBAL_ID(0)] = first[63u - LOCAL_ID(0)];
  out[2u * GLOBAL_ID(0) + 1u] = second[63u - LOCAL_ID(0)];
}
