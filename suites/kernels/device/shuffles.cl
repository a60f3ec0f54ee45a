// Shuffles and votes in sub-groups of LANES. OpenCL uses Intel's extension, which every Intel device has, and
// ballots. Result k of work-item i is out[k * n + i], for n work-items.
#include "suites/kernels/device/portable_cuda.h"

#ifdef __CUDACC__
#define LANES_REQUIRED
#else
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define LANES_REQUIRED __attribute__((intel_reqd_sub_group_size(LANES)))

// Clang's header does not declare the extension.
#define DECLARE_SHUFFLES(T)                                                                        \
  T __attribute__((overloadable)) intel_sub_group_shuffle(T value, uint lane);                     \
  T __attribute__((overloadable)) intel_sub_group_shuffle_xor(T value, uint mask);                 \
  T __attribute__((overloadable)) intel_sub_group_shuffle_up(T previous, T current, uint delta);   \
  T __attribute__((overloadable)) intel_sub_group_shuffle_down(T current, T next, uint delta);
DECLARE_SHUFFLES(uchar)
DECLARE_SHUFFLES(ushort)
DECLARE_SHUFFLES(uint)
DECLARE_SHUFFLES(ulong)
#endif

// The position of a work-item: its lane, the size of its sub-group, and the number of its sub-group in the group.
KERNEL LANES_REQUIRED places(GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  out[i] = get_sub_group_local_id();
  out[n + i] = get_sub_group_size();
  out[2u * n + i] = get_sub_group_id();
}

// Five shuffles for each number `by`: from lane `by`, from the lane `by` further (modulo LANES), from the lane
// number xor `by`, and from the lane `by` below and above. Beyond the first and the last lane, the complement of a
// value is read.
#define SHUFFLES(T, name)                                                                          \
  KERNEL LANES_REQUIRED shuffles_##name(GLOBAL const T* in, GLOBAL T* out, uint n) {               \
    const uint i = GLOBAL_ID(0);                                                                   \
    const T value = in[i], beyond = (T)~value;                                                     \
    const uint lane = get_sub_group_local_id();                                                    \
    for (uint by = 0u; by < LANES; ++by) {                                                         \
      GLOBAL T* to = out + 5u * by * n + i;                                                        \
      to[0] = intel_sub_group_shuffle(value, by);                                                  \
      to[n] = intel_sub_group_shuffle(value, (lane + by) % LANES);                                 \
      to[2u * n] = intel_sub_group_shuffle_xor(value, by);                                         \
      to[3u * n] = intel_sub_group_shuffle_up(beyond, value, by);                                  \
      to[4u * n] = intel_sub_group_shuffle_down(value, beyond, by);                                \
    }                                                                                              \
  }
SHUFFLES(uchar, u8)
SHUFFLES(ushort, u16)
SHUFFLES(uint, u32)
SHUFFLES(ulong, u64)

// Votes for each lane `odd`: all lanes see any and all if only this lane votes yes, and if only this lane votes
// no. Bit 0: any, bit 1: all.
KERNEL LANES_REQUIRED votes(GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  for (uint odd = 0u; odd < LANES; ++odd) {
    const int alone = get_sub_group_local_id() == odd;
    out[2u * odd * n + i] = (sub_group_any(alone) ? 1u : 0u) | (sub_group_all(alone) ? 2u : 0u);
    out[(2u * odd + 1u) * n + i] = (sub_group_any(!alone) ? 1u : 0u) | (sub_group_all(!alone) ? 2u : 0u);
  }
}

// Ballots for each lane `odd`: if only this lane votes yes, and if only this lane votes no. Then the ballot by
// `in`, and its functions: number of votes, votes up to this lane, votes below it, first and last voter, and the
// vote of this lane.
KERNEL LANES_REQUIRED ballots(GLOBAL const uint* in, GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  for (uint odd = 0u; odd < LANES; ++odd) {
    const int alone = get_sub_group_local_id() == odd;
    out[2u * odd * n + i] = sub_group_ballot(alone).x;
    out[(2u * odd + 1u) * n + i] = sub_group_ballot(!alone).x;
  }
  const uint4 voted = sub_group_ballot((int)(in[i] & 1u));
  GLOBAL uint* to = out + 2u * LANES * n + i;
  to[0] = voted.x;
  to[n] = sub_group_ballot_bit_count(voted);
  to[2u * n] = sub_group_ballot_inclusive_scan(voted);
  to[3u * n] = sub_group_ballot_exclusive_scan(voted);
  to[4u * n] = sub_group_ballot_find_lsb(voted);
  to[5u * n] = sub_group_ballot_find_msb(voted);
  to[6u * n] = sub_group_inverse_ballot(voted) ? 1u : 0u;
}
